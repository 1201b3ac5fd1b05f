"""Holds the answers to keys of Debezium's PostgreSQL connector that have no effect here. Values only."""

from __future__ import annotations

from typing import Final

from connectors.jdbc.debezium.shared.key_answers import HARMLESS, REFUSED, WITHOUT_EFFECT, KeyAnswers

_HISTORY = "PostgreSQL's log tells its columns, and no history is kept"

ANSWERS: Final = KeyAnswers(
    {
        **WITHOUT_EFFECT,
        "database.tcpkeepalive": "connections here are always kept alive",
        "database.include.list": "the one database is database.dbname",
        "database.exclude.list": "the one database is database.dbname",
        "lsn.flush.timeout.ms": "the slot moves on as soon as offsets are stored",
        "lsn.flush.timeout.action": "the slot moves on as soon as offsets are stored",
        "schema.refresh.mode": "columns are those that the log tells",
        "xmin.fetch.interval.ms": "source.xmin stays null",
        "slot.max.retries": "errors.retry.timeout tells it",
        "slot.retry.delay.ms": "errors.retry.delay.max.ms tells it",
        "database.history.kafka.bootstrap.servers": _HISTORY,
        "database.history.kafka.topic": _HISTORY,
        "schema.history.internal.kafka.bootstrap.servers": _HISTORY,
        "schema.history.internal.kafka.topic": _HISTORY,
        "include.schema.changes": _HISTORY,
        "database.server.id": "PostgreSQL's log needs no number of its reader",
    },
    {
        **REFUSED,
        "replica.identity.autoset.values": "run ALTER TABLE ... REPLICA IDENTITY once for the tables",
        "slot.stream.params": "the log is read with pgoutput's own options; leave it out",
        "database.sslfactory": "Java's socket factory does not run here; database.sslmode and certificates do",
        "database.initial.statements": "ALTER ROLE ... SET gives the user's sessions their settings",
        "topic.naming.strategy": "the topic is prefix.schema.table; the transform RegexRouter names others",
    },
    {
        **HARMLESS,
        "sourceinfo.struct.maker": frozenset({"io.debezium.connector.postgresql.PostgresSourceInfoStructMaker"}),
    },
)
