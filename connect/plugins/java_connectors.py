"""Knows Java connectors that are not here, and what their users can do instead. Pure."""

from __future__ import annotations

from typing import Final

_LOG: Final = (
    "The JDBC source reads the database's log and writes Debezium's envelope: "
    "connector.class=io.confluent.connect.jdbc.JdbcSourceConnector with mode=log."
)
_POLLS: Final = (
    "The JDBC source polls the tables: connector.class=io.confluent.connect.jdbc.JdbcSourceConnector with "
    "mode=timestamp+incrementing and a SQLAlchemy URL whose driver the worker allows."
)
_BESIDE: Final = "Leave it to a Java Connect cluster with a group.id and internal topics of its own, on the same Kafka."
_INSTEAD: Final = (
    ("io.debezium.connector.mysql.", _LOG),
    ("io.debezium.connector.mariadb.", _LOG),
    ("io.debezium.connector.sqlserver.", _POLLS),
    ("io.debezium.connector.oracle.", _POLLS),
    ("io.debezium.connector.db2.", _POLLS),
    ("org.apache.kafka.connect.mirror.", "MirrorMaker runs as a process of its own: bin/connect-mirror-maker.sh."),
    ("io.confluent.kafka.connect.datagen.", "For rows to try with, give the file source a file of them."),
    (
        "org.apache.kafka.connect.tools.",
        "It is a tool of Kafka's own tests; FileStreamSource and FileStreamSink are here.",
    ),
)
_OTHERS: Final = ("io.debezium.", "io.confluent.", "io.aiven.", "io.lenses.", "com.", "org.apache.")


def instead_of(name: str) -> str | None:
    """Return what to use in place of a connector class that is not here; None: it is no Java class one would know."""
    found = next((told for prefix, told in _INSTEAD if name.startswith(prefix)), None)
    return found or (_BESIDE if name.startswith(_OTHERS) else None)
