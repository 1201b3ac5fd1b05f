"""Holds the answers to keys of Debezium's MySQL and MariaDB connectors that have no effect here. Values only."""

from __future__ import annotations

from typing import Final

from connectors.jdbc.debezium.shared.key_answers import HARMLESS, REFUSED, TUNING, WITHOUT_EFFECT, KeyAnswers

_HISTORY = "columns are known by the log itself, or by a history beside the offset: no topic is needed"
_GTIDS = "all transactions of the server's log are read"
_ALL_READ = "an event that cannot be read stops the task, as with fail"
_DRIVER = "no Java driver runs here"
_RECONNECTS = "a lost connection is made anew, as errors.retry.timeout says"

ANSWERS: Final = KeyAnswers(
    {
        **{name: why for name, why in WITHOUT_EFFECT.items() if name != "include.schema.comments"},
        "database.server.id": "the reader takes a number of its own at random, as two of the same end each other",
        "database.server.id.offset": TUNING,
        "database.jdbc.driver": _DRIVER,
        "database.protocol": _DRIVER,
        "database.jdbc.protocol": _DRIVER,
        "database.ssl.truststore.password": "a PEM file of certificates has no password",
        "connect.timeout.ms": _RECONNECTS,
        "connect.keep.alive": _RECONNECTS,
        "connect.keep.alive.interval.ms": _RECONNECTS,
        "use.nongraceful.disconnect": _RECONNECTS,
        "binlog.net.write.timeout": _RECONNECTS,
        "binlog.net.read.timeout": _RECONNECTS,
        "binlog.buffer.size": TUNING,
        "ddl.parser.type": "one parser reads statements here",
        "event.deserialization.failure.handling.mode": _ALL_READ,
        "inconsistent.schema.handling.mode": _ALL_READ,
        "gtid.new.channel.position": _GTIDS,
        "gtid.source.filter.dml.events": _GTIDS,
        "gtid.ignore.on.recovery": "the log goes on by GTID where the offset has one",
        "snapshot.new.tables": "a table that is added later is read from the log alone",
        "resolve.create.table.like.schema": "CREATE TABLE ... LIKE is followed",
        **{
            f"{prefix}.{name}": _HISTORY
            for prefix, names in {
                "schema.history.internal": (
                    "skip.unparseable.ddl",
                    "kafka.bootstrap.servers",
                    "kafka.topic",
                    "kafka.recovery.attempts",
                    "kafka.recovery.poll.interval.ms",
                    "kafka.query.timeout.ms",
                    "kafka.create.timeout.ms",
                    "name",
                    "connector.class",
                    "connector.id",
                    "ddl.filter",
                    "file.filename",
                    "prefer.ddl",
                    "store.only.monitored.tables.ddl",
                ),
                "database.history": (
                    "skip.unparseable.ddl",
                    "store.only.captured.tables.ddl",
                    "store.only.monitored.tables.ddl",
                    "kafka.bootstrap.servers",
                    "kafka.topic",
                    "kafka.recovery.attempts",
                    "kafka.recovery.poll.interval.ms",
                    "ddl.filter",
                    "file.filename",
                ),
            }.items()
            for name in names
        },
        "schema.history.internal": _HISTORY,
        "database.history": _HISTORY,
    },
    {
        **REFUSED,
        "include.query": "the log is read without the text of its statements; leave it out",
        "gtid.source.includes": "all servers' transactions are read; leave it out",
        "gtid.source.excludes": "all servers' transactions are read; leave it out",
        "database.initial.statements": "the server's init_connect gives sessions their settings",
        "topic.naming.strategy": "the topic is prefix.database.table; the transform RegexRouter names others",
    },
    {
        **HARMLESS,
        "include.query": frozenset({"false"}),
        "sourceinfo.struct.maker": frozenset(
            {
                "io.debezium.connector.mysql.MySqlSourceInfoStructMaker",
                "io.debezium.connector.mariadb.MariaDbSourceInfoStructMaker",
            }
        ),
    },
)
