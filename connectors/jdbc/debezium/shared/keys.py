"""Declares the settings that Debezium's connectors share, by its own keys. No driver, no I/O.

Source: the definitions that Kafka Connect's validation gives of version 3; older names from the documentation of
1.9 and 2.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, SecretStr

from connect.api.allowed import OneOf
from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Password, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connectors.jdbc.debezium.shared.adjusted_names import MODES
from connectors.jdbc.debezium.shared.column_rule_keys import PREFIXES
from connectors.jdbc.debezium.shared.key_answers import OF_JAVA, KeyAnswers, is_for_java
from connectors.jdbc.settings.log_keys import OPERATIONS

CONNECTION, TABLES, LOG, TYPES = "Connection", "Tables", "Log", "Types"
SELECTS = "snapshot.select.statement.overrides."
"""A key that begins so holds the query for a table."""


def _check_delimiter(value: str) -> str:
    if re.fullmatch(r"[a-zA-Z0-9._-]+", value) is None:
        raise ValueError("Must be letters, digits, '.', '_' and '-'")
    return value


class ServerKeys(ConnectorConfig):
    """Declares which server is read, and as whom."""

    hostname: String = key(
        "database.hostname", importance="high", group=CONNECTION, reach=Reach.HOST,
        doc="The server; several by commas are tried in turn.",
    )  # fmt: skip
    user: String = key("database.user", importance="high", group=CONNECTION, doc="The user, who may replicate.")
    password: Password = key(
        "database.password", SecretStr(""), importance="high", group=CONNECTION, doc="The user's password."
    )


class EventKeys(ConnectorConfig):
    """Declares which tables and columns are read, and how their events look."""

    topic_prefix: String = key(
        "topic.prefix", "", importance="high", group=TABLES,
        doc="Names the server in topics, schemas and offsets: prefix.schema.table.",
    )  # fmt: skip
    topic_delimiter: Annotated[String, AfterValidator(_check_delimiter)] = key(
        "topic.delimiter", ".", importance="low", group=TABLES, harmless="a part of topics' names",
        doc="Stands between the parts of the names of topics.",
    )  # fmt: skip
    server_name: String = key(
        "database.server.name", "", group=TABLES, doc="topic.prefix in Debezium 1.", harmless="a name of topics"
    )
    table_include: ListOf = key(
        "table.include.list", (), importance="high", group=TABLES,
        doc="Regular expressions; a table is read when one matches its whole name, schema.table, in any case.",
    )  # fmt: skip
    table_exclude: ListOf = key("table.exclude.list", (), group=TABLES, doc="Likewise, of tables that are not read.")
    column_exclude: ListOf = key(
        "column.exclude.list", (), group=TABLES,
        doc="Regular expressions; a column is left out when one matches its whole name, schema.table.column.",
    )  # fmt: skip
    column_include: ListOf = key(
        "column.include.list",
        (),
        group=TABLES,
        doc="Likewise, of the columns that are kept; a key's must be among them.",
    )
    table_whitelist: ListOf = key("table.whitelist", (), group=TABLES, doc="table.include.list in Debezium 1.2.")
    table_blacklist: ListOf = key("table.blacklist", (), group=TABLES, doc="table.exclude.list in Debezium 1.2.")
    column_whitelist: ListOf = key("column.whitelist", (), group=TABLES, doc="column.include.list in Debezium 1.2.")
    column_blacklist: ListOf = key("column.blacklist", (), group=TABLES, doc="column.exclude.list in Debezium 1.2.")
    tombstones_on_delete: Boolean = key(
        "tombstones.on.delete", True, group=TABLES, doc="Send a tombstone behind each deleted row's event."
    )
    skipped_operations: Annotated[ListOf, OneOf(OPERATIONS)] = key(
        "skipped.operations", ("t",), importance="low", group=TABLES,
        doc="Operations not sent: c inserts, u updates, d deletes, t truncates; none: send all.",
    )  # fmt: skip
    message_key_columns: String = key(
        "message.key.columns", "", group=TABLES,
        doc="Other keys of records: a regular expression of tables, a colon and columns, separated by semicolons, as "
        "shop.orders:region,number. A column that deletes do not tell is null there.",
    )  # fmt: skip
    skip_unchanged: Boolean = key(
        "skip.messages.without.change", False, importance="low", group=TABLES,
        doc="Leave out updates that change no column of the records; on PostgreSQL where REPLICA IDENTITY is FULL.",
    )  # fmt: skip
    extended_headers: Boolean = key(
        "extended.headers.enabled", True, importance="low", group=TABLES,
        doc="Send the headers that name connector and task.",
    )  # fmt: skip
    schema_name_adjustment: Annotated[String, one_of(*MODES)] = key(
        "schema.name.adjustment.mode", "none", importance="low", group=TABLES,
        doc="How names of schemas that Avro does not allow are changed. avro: a wrong character becomes an underscore; "
        "avro_unicode: it becomes _u and its number, as an underscore does.",
    )  # fmt: skip
    field_name_adjustment: Annotated[String, one_of(*MODES)] = key(
        "field.name.adjustment.mode", "none", importance="low", group=TABLES,
        doc="Likewise, the names of fields, which are those of columns.",
    )  # fmt: skip

    tells_transactions: Boolean = key(
        "provide.transaction.metadata", False, importance="low", group=TABLES,
        doc="Tell each event's place in its transaction, and where transactions with events begin and end in a topic "
        "of their own.",
    )  # fmt: skip
    topic_transaction: String = key(
        "topic.transaction", "transaction", importance="low", group=TABLES, harmless="a part of a topic's name",
        doc="That topic is topic.prefix, a dot and this.",
    )  # fmt: skip
    transaction_topic: String = key(
        "transaction.topic", "", importance="low", group=TABLES, harmless="a topic's name",
        doc="That topic's whole name, as in Debezium 1; ${database.server.name} stands for topic.prefix.",
    )  # fmt: skip

    @property
    def own_transaction_topic(self) -> str:
        """Return the topic that tells of transactions, or an empty text if there is none."""
        if not self.tells_transactions:
            return ""
        whole = self.transaction_topic.replace("${database.server.name}", self.prefix)
        return whole or f"{self.prefix}{self.topic_delimiter}{self.topic_transaction}"

    @property
    def prefix(self) -> str:
        """Return topic.prefix, by either name."""
        return self.topic_prefix or self.server_name


class FlowKeys(ConnectorConfig):
    """Declares when the tables and the log are read, and how much at once."""

    snapshot_query_mode: Annotated[String, one_of("select_all")] = key(
        "snapshot.query.mode", "select_all", importance="low", group=LOG, doc="Tables are read whole."
    )
    snapshot_includes: ListOf = key(
        "snapshot.include.collection.list", (), group=LOG,
        doc="Regular expressions of the tables whose rows the first read reads; without it all chosen tables.",
    )  # fmt: skip
    snapshot_selects: ListOf = key(
        "snapshot.select.statement.overrides", (), group=LOG, reach=Reach.SQL,
        doc="Tables, as shop.orders, whose rows the first read takes from a query of all their columns, which "
        "snapshot.select.statement.overrides.shop.orders holds.",
    )  # fmt: skip
    snapshots_data: Boolean = key(
        "snapshot.mode.configuration.based.snapshot.data", False, importance="low", group=LOG,
        doc="snapshot.mode=configuration_based: read the tables at each start.",
    )  # fmt: skip
    starts_stream: Boolean = key(
        "snapshot.mode.configuration.based.start.stream", False, importance="low", group=LOG,
        doc="snapshot.mode=configuration_based: read the log.",
    )  # fmt: skip
    snapshots_on_loss: Boolean = key(
        "snapshot.mode.configuration.based.snapshot.on.data.error", False, importance="low", group=LOG,
        doc="snapshot.mode=configuration_based: read the tables again when the place in the log is lost.",
    )  # fmt: skip
    heartbeat_interval_ms: Annotated[Int, at_least(0)] = key(
        "heartbeat.interval.ms", 0, group=LOG, doc="Send a record to the heartbeat topic this often; 0: never."
    )
    heartbeat_action_query: String = key(
        "heartbeat.action.query", "", group=LOG, reach=Reach.SQL,
        doc="A statement that runs on the database at each heartbeat. The place in the log moves on without it.",
    )  # fmt: skip
    heartbeat_topics_prefix: String = key(
        "heartbeat.topics.prefix", "", importance="low", group=LOG, doc="topic.heartbeat.prefix by another name."
    )
    heartbeat_topic_prefix: String = key(
        "topic.heartbeat.prefix", "__debezium-heartbeat", importance="low", group=LOG,
        doc="The heartbeat topic is this, a dot and topic.prefix.",
    )  # fmt: skip
    max_batch_size: Annotated[Int, at_least(1)] = key(
        "max.batch.size", 2048, importance="low", group=LOG, doc="The most changes of one batch."
    )


class SignalKeys(ConnectorConfig):
    """Declares where signals come from, which ask for tables to be read again."""

    signal_collection: String = key(
        "signal.data.collection", "", group=LOG,
        doc="The table whose inserted rows (id, type, data) are signals, as schema.table or database.table.",
    )  # fmt: skip
    signal_channels: ListOf = key(
        "signal.enabled.channels", ("source",), importance="low", group=LOG, harmless="three words, others are noted",
        doc="Where signals come from: source (that table), kafka (signal.kafka.topic), file (signal.file); jmx is not "
        "read here.",
    )  # fmt: skip
    signal_topic: String = key(
        "signal.kafka.topic", "", importance="low", group=LOG, harmless="a topic's name",
        doc="The topic of one partition whose records are signals: the key is topic.prefix, the value JSON of the "
        "members id, type and data. Without it topic.prefix with -signal behind it.",
    )  # fmt: skip
    signal_brokers: String = key(
        "signal.kafka.bootstrap.servers", "", importance="low", group=LOG, reach=Reach.HOST,
        doc="The brokers of that topic. signal.consumer.* are further settings of its consumer, as the login; the "
        "worker's goes to the worker's own brokers alone.",
    )  # fmt: skip
    signal_file: String = key(
        "signal.file", "", importance="low", group=LOG, reach=Reach.FILE,
        doc="The file whose lines are signals in JSON, of the members id, type and data; lines that are read go.",
    )  # fmt: skip
    signal_poll_interval_ms: Annotated[Int, at_least(1)] = key(
        "signal.poll.interval.ms", 5000, importance="low", group=LOG, doc="How often file and topic are looked at."
    )
    chunk_rows: Annotated[Int, at_least(1)] = key(
        "incremental.snapshot.chunk.size", 1024, importance="low", group=LOG,
        doc="The most rows of a table that a signal names which are read at once.",
    )  # fmt: skip


SIGNAL_CLIENT = "signal.consumer."
"""Keys that begin so are settings of the consumer of signals."""


class DebeziumConfig(SignalKeys, FlowKeys, EventKeys, ServerKeys):
    """Declares what all of Debezium's connectors have in common."""

    answers: ClassVar[KeyAnswers]
    """The answers to keys that have no effect here."""
    families = (*PREFIXES, SELECTS, SIGNAL_CLIENT)

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield the keys that are accepted and change nothing."""
        yield from self.answers.notes(self.originals)
        declared = {definition.name for definition in self.definitions()}
        for name in sorted(self.originals.keys() - declared):
            if is_for_java(name) and name.lower() not in self.answers.without_effect:
                yield ConfigProblem(name, f"{name} changes nothing here: {OF_JAVA}.")
        if others := [channel for channel in self.signal_channels if channel not in {"source", "kafka", "file"}]:
            yield ConfigProblem(
                "signal.enabled.channels",
                f"No signals are read from {', '.join(others)} here: insert them into signal.data.collection.",
            )

    @property
    def own_signal_topic(self) -> str:
        """Return the topic of signals."""
        return self.signal_topic or f"{self.prefix}-signal"

    @property
    def signal_client(self) -> Mapping[str, str]:
        """Return the settings of the consumer of signals, by Java's names."""
        own = {
            name.removeprefix(SIGNAL_CLIENT): value
            for name, value in self.originals.items()
            if name.startswith(SIGNAL_CLIENT)
        }
        return {**own, "bootstrap.servers": self.signal_brokers}

    @property
    def selects(self) -> Mapping[str, str]:
        """Return the queries that the first read takes rows from, by the table's full name."""
        given = {name: self.originals.get(f"{SELECTS}{name}", "") for name in self.snapshot_selects}
        return {name: query for name, query in given.items() if query.strip()}

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Yield the keys that are not Debezium's. Those that it passes on to its drivers are Debezium's."""
        yield from super().unknown_keys(
            name for name in properties if not (cls.answers.know(name) or name.startswith(cls.families))
        )


class TaskKeys(ConnectorConfig):
    """Declares the settings that the connector adds to its own for its one task."""

    tables: String = key("tables", "", doc="The task's tables, quoted and separated by commas.", internal=True)
