"""Declares the settings of the JDBC source: Confluent's keys, Aiven's where they differ. No driver, no I/O.

Source: JdbcSourceConnectorConfig of confluentinc/kafka-connect-jdbc 10.9 and Aiven's jdbc-connector-for-apache-kafka.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from connect.api.allowed import KeyValue, OneOf
from connect.api.config import (
    Boolean,
    Int,
    KeyDefinition,
    ListOf,
    Long,
    Password,
    String,
    at_least,
    key,
    one_of,
)
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.time_types import TimePrecision
from connect.lib.key_role import KeyRole
from connectors.jdbc.settings import rules
from connectors.jdbc.settings.connection_keys import DATABASE
from connectors.jdbc.settings.connection_rules import connection_notes
from connectors.jdbc.settings.database_keys import DatabaseKeys
from connectors.jdbc.settings.log_keys import LogKeys
from connectors.jdbc.values.java_zones import zone

MODES = ("bulk", "timestamp", "incrementing", "timestamp+incrementing", "log")
GRANULARITIES = (
    "connect_logical", "micros_long", "micros_string", "micros_iso_datetime_string",
    "nanos_long", "nanos_string", "nanos_iso_datetime_string",
)  # fmt: skip
TABLE_TYPES = (
    "TABLE", "VIEW", "SYSTEM TABLE", "GLOBAL TEMPORARY", "LOCAL TEMPORARY", "ALIAS", "SYNONYM", "BASE TABLE",
    "PARTITIONED TABLE", "FOREIGN TABLE", "MATERIALIZED VIEW", "SYSTEM VIEW",
)  # fmt: skip
ISOLATION_MODES = (
    "DEFAULT", "READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE", "SQL_SERVER_SNAPSHOT",
)  # fmt: skip
OptionalLong = Annotated[int | None, *Long.__metadata__]
LOG_TOPIC_FORMAT = "${prefix}.${schema}.${table}"
MODE, CONNECTOR = "Mode", "Connector"
_LOWER_CASE = {"quote.sql.identifiers", "transaction.isolation.mode"}
"""Confluent's forms show the values of these keys in lower case. Values in lower and upper case are accepted."""
_MODE_DEPENDENTS = (
    "incrementing.column.name", "timestamp.column.name", "incrementing.column.mapping", "timestamp.columns.mapping",
    "validate.non.null",
)  # fmt: skip
_OF_IDS = {"incrementing.column.name", "incrementing.column.mapping", "validate.non.null"}
_OF_TIMESTAMPS = {"timestamp.column.name", "timestamp.columns.mapping", "timestamp.initial", "validate.non.null"}


def _check_zone(value: str) -> str:
    zone(value)
    return value


def _check_not_negative(value: int | None) -> int | None:
    if value is not None and value < 0:
        raise ValueError("Must not be negative")
    return value


def _check_topic_format(value: str) -> str:
    if "${table}" not in value or re.search(r"\$\{(?!(?:prefix|schema|table)\})", value):
        raise ValueError("Must hold ${table}, and no placeholder but ${prefix}, ${schema} and ${table}")
    return value


def _check_topic_prefix(value: str) -> str:
    if len(value) > 249 or not re.fullmatch(r"[a-zA-Z0-9._-]*", value):
        raise ValueError("Must be at most 249 characters of a-z, A-Z, 0-9, '.', '_' and '-'")
    return value


class JdbcSourceConfig(LogKeys, DatabaseKeys):
    """Declares everything a user may say about a JDBC source."""

    mode: Annotated[String, one_of(*MODES)] = key(
        "mode", "", importance="high", group=MODE, dependents=_MODE_DEPENDENTS,
        display_name="Table Loading Mode",
        doc="bulk reads whole tables again and again; the others read new rows (incrementing), changed rows "
        "(timestamp) or both; log reads every change, deletes too, from the log of "
        "PostgreSQL, MariaDB or MySQL.",
    )  # fmt: skip
    incrementing_column: String = key(
        "incrementing.column.name", "", group=MODE, display_name="Incrementing Column Name",
        doc="The strictly increasing column; empty: the table's auto-increment column.",
    )  # fmt: skip
    timestamp_columns: ListOf = key(
        "timestamp.column.name", (), group=MODE, display_name="Timestamp Column Name",
        doc="The modification time of a row; of several the first that is not null.",
    )  # fmt: skip
    timestamp_columns_mapping: ListOf = key(
        "timestamp.columns.mapping", (), group=MODE, display_name="Table to timestamp columns mappings", width="long",
        doc="Per table, regex:[column|column]; every table must match exactly one.",
    )  # fmt: skip
    incrementing_columns: ListOf = key(
        "incrementing.column.mapping", (), group=MODE,
        display_name="Table to incrementing column mappings", width="long",
        doc="Per table, regex:column; every table must match exactly one.",
    )  # fmt: skip
    timestamp_initial: OptionalLong = key(
        "timestamp.initial", None, importance="low", group=MODE, display_name="Unix time value of initial timestamp",
        doc="Epoch milliseconds to begin after when there is no stored offset; -1: now, and it is stored; none: 0.",
    )  # fmt: skip
    validate_non_null: Boolean = key(
        "validate.non.null", True, importance="low", group=MODE, display_name="Validate Non Null", width="short",
        doc="Demand NOT NULL of the incrementing column and of at least one timestamp column: a row without a cursor "
        "value is never read.",
    )  # fmt: skip
    query: String = key(
        "query", "", group=MODE, display_name="Query", width="short",
        reach=Reach.SQL,
        doc="Read this SELECT in place of tables. It is wrapped as SELECT * FROM (query) x: joins and WHERE are fine.",
    )  # fmt: skip
    query_masked: Password = key(
        "query.masked", SecretStr(""), group=MODE, display_name="Query (Masked)", width="short",
        reach=Reach.SQL, doc="The same, hidden wherever configurations are shown.",
    )  # fmt: skip
    quote_sql_identifiers: Annotated[String, one_of("ALWAYS", "NEVER", ignore_case=True)] = key(
        "quote.sql.identifiers", "ALWAYS", group=MODE, display_name="Quote Identifiers",
        doc="Whether table and column names are quoted in SQL.",
    )  # fmt: skip
    query_suffix: String = key(
        "query.suffix", "", importance="low", group=MODE, display_name="Query suffix",
        reach=Reach.SQL,
        doc="Text at the end of every reading statement. A LIMIT here can cut rows that are never read.",
    )  # fmt: skip
    isolation_mode: Annotated[String, one_of(*ISOLATION_MODES, ignore_case=True), AfterValidator(str.upper)] = key(
        "transaction.isolation.mode", "DEFAULT", importance="low", group=MODE,
        display_name="Transaction Isolation Mode",
        doc="The isolation level of reading statements.",
    )  # fmt: skip
    query_retry_attempts: Int = key(
        "query.retry.attempts", -1, importance="low", group=MODE, display_name="Query Retry Attempts",
        doc="How often a failed read is tried again before the task fails; 0 or less: as errors.retry.timeout says.",
    )  # fmt: skip
    table_types: Annotated[ListOf, OneOf(TABLE_TYPES, ignore_case=True)] = key(
        "table.types", ("TABLE",), importance="low", group=CONNECTOR, display_name="Table Types",
        doc="What is listed: TABLE, VIEW, LOCAL TEMPORARY, of PostgreSQL also MATERIALIZED VIEW and PARTITIONED TABLE. "
        "Of a partitioned table the partitions are read where the filter takes them too, with PARTITIONED TABLE and "
        "mode=log the whole.",
    )  # fmt: skip
    poll_interval_ms: Annotated[Int, at_least(0)] = key(
        "poll.interval.ms", 5000, importance="high", group=CONNECTOR, display_name="Poll Interval (ms)", width="short",
        doc="The wait between the end of one read of a table and the next.",
    )  # fmt: skip
    batch_max_rows: Annotated[Int, at_least(1)] = key(
        "batch.max.rows", 1000, importance="low", group=CONNECTOR, display_name="Max Rows Per Batch", width="short",
        role=KeyRole.PAGE_ROWS, doc="The most rows of one poll. 20000 reads large tables at full speed.",
    )  # fmt: skip
    max_buffer_size: Annotated[Int, at_least(0)] = key(
        "max.buffer.size", 0, importance="low", group=CONNECTOR, display_name="Maximum Buffer Size", width="short",
        doc="Accepted. A task holds at most three batches here: one delivered, one ready, one being read.",
    )  # fmt: skip
    poll_linger_ms: Annotated[Long, at_least(0)] = key(
        "poll.linger.ms", 5000, importance="low", group=CONNECTOR,
        display_name="Poll Linger Milliseconds", width="short",
        doc="The longest wait of one poll for rows.",
    )  # fmt: skip
    table_startup_limit_ms: Annotated[Long, at_least(0)] = key(
        "table.monitoring.startup.polling.limit.ms", 10000, importance="low", group=CONNECTOR, internal=True,
        doc="Accepted. The first listing is waited for here.",
    )  # fmt: skip
    table_poll_interval_ms: Annotated[Long, at_least(1)] = key(
        "table.poll.interval.ms", 60000, importance="low", group=CONNECTOR,
        display_name="Metadata Change Monitoring Interval (ms)", width="short",
        doc="How often tables that are new or gone are looked for, and the columns of each table: new tables are read "
        "without a restart, and tasks whose tables change are started anew.",
    )  # fmt: skip
    topic_prefix: Annotated[String, AfterValidator(_check_topic_prefix)] = key(
        "topic.prefix", "", importance="high", group=CONNECTOR, display_name="Topic Prefix",
        doc="A table goes to the topic of this prefix and its bare name; a query to the topic of this name.",
    )  # fmt: skip
    timestamp_delay_ms: Long = key(
        "timestamp.delay.interval.ms", 0, importance="high", group=CONNECTOR, display_name="Delay Interval (ms)",
        doc="Leave rows younger than this for a later read: time for their transactions to commit. Below 0 is as 0: "
        "the zone of a column, for which that is done in Java, is known here.",
    )  # fmt: skip
    db_timezone: Annotated[String, AfterValidator(_check_zone)] = key(
        "db.timezone", "UTC", group=CONNECTOR, display_name="DB time zone",
        doc="The zone of dates with a time but no zone in the database.",
    )  # fmt: skip
    timestamp_granularity: Annotated[String, one_of(*GRANULARITIES, ignore_case=True), AfterValidator(str.lower)] = key(
        "timestamp.granularity", "connect_logical", importance="low", group=CONNECTOR,
        display_name="Timestamp granularity for timestamp columns",
        doc="What timestamps become: connect_logical has milliseconds (see microsecond.handling); the others are INT64 "
        "or STRING of epoch micro- or nanoseconds, or ISO text in db.timezone.",
    )  # fmt: skip
    incrementing_initial: Long = key(
        "incrementing.initial", -1, group=MODE, doc="Aiven: read ids above this when there is no stored offset."
    )
    timestamp_initial_ms: Long = key(
        "timestamp.initial.ms",
        0,
        importance="low",
        group=MODE,
        doc="Aiven's name of timestamp.initial; may be negative.",
    )
    max_rows_per_second: Annotated[Long, at_least(0)] = key(
        "max.rows.per.second", 0, importance="low", group=CONNECTOR,
        doc="The most rows that a task reads per second, in pages of at most a second's; with mode=log in the first "
        "read. 0: as many as come.",
    )  # fmt: skip
    statement_timeout_ms: Annotated[Long, at_least(0)] = key(
        "statement.timeout.ms", 0, importance="low", group=DATABASE, role=KeyRole.STATEMENT_LIMIT_MS,
        doc="The server ends a statement of PostgreSQL, MariaDB or MySQL that runs longer; the read goes on behind the "
        "last row that was delivered. 0: as the server is set.",
    )  # fmt: skip
    key_mode: Annotated[String, one_of("none", "primary_key")] = key(
        "key.mode", "none", group=CONNECTOR,
        doc="What records have as key: none, as with Confluent's connector; primary_key: a struct of the columns of "
        "key.fields or else of the table's primary key, as the transform ValueToKey makes it; null without either.",
    )  # fmt: skip
    key_fields: ListOf = key(
        "key.fields", (), group=CONNECTOR, doc="With key.mode=primary_key: the key's columns, the same for all tables."
    )
    topic_name_format: Annotated[String, AfterValidator(_check_topic_format)] = key(
        "topic.name.format", "${prefix}${table}", group=CONNECTOR,
        doc="The topic of a table; ${prefix}, ${schema} and ${table} stand for topic.prefix and the table's names; "
        "with mode=log the default is ${prefix}.${schema}.${table}. "
        "With ${schema} tables of one name in several schemas can be read together.",
    )  # fmt: skip
    offset_mode: Annotated[String, one_of("safe", "confluent")] = key(
        "offset.mode", "safe", importance="high", group=CONNECTOR,
        doc="safe: no row is lost whose transaction commits after rows with a later id or timestamp were read. "
        "confluent: the reading statements of Confluent's connector, which lose such rows.",
    )  # fmt: skip
    initial_read_parallelism: Annotated[Int, at_least(1)] = key(
        "initial.read.parallelism", 1, importance="low", group=CONNECTOR,
        doc="Into how many ranges of its key the first full read of a table is cut, for as many tasks as tasks.max "
        "allows; 1: into none. For tables with a primary key of one integer column, with offset.mode=safe.",
    )  # fmt: skip
    settle_time_ms: Annotated[OptionalLong, AfterValidator(_check_not_negative)] = key(
        "settle.time.ms", None, importance="low", group=CONNECTOR,
        doc="How far clocks and rounded timestamps may be off. none: 1000 for PostgreSQL, MariaDB and MySQL, 0 for "
        "SQLite; for other databases 10000, which there is also the longest transaction whose rows are not lost.",
    )  # fmt: skip
    safe_horizon_max_ms: Annotated[Long, at_least(1000)] = key(
        "safe.horizon.max.ms", 3_600_000, importance="low", group=CONNECTOR,
        doc="How long an open transaction may hold the safe mark; after that its rows may be lost, with a warning.",
    )  # fmt: skip
    microsecond_handling: Annotated[String, one_of("fail", "truncate")] = key(
        "microsecond.handling", "truncate", importance="low", group=CONNECTOR,
        doc="What becomes of microseconds in types of milliseconds (timestamp.granularity=connect_logical, and columns "
        "of times): truncate cuts them off, as Confluent's connector does, and the log names each column at the start; "
        "fail stops at the first value with some. Other values of timestamp.granularity or time.precision.mode keep "
        "them.",
    )  # fmt: skip
    zero_date_handling: Annotated[String, one_of("fail", "null", "epoch")] = key(
        "zero.date.handling", "fail", importance="low", group=CONNECTOR,
        doc="What dates that are none become: zero dates of MySQL and MariaDB, infinity of PostgreSQL. fail stops the "
        "task and names the column; null makes date columns optional.",
    )  # fmt: skip
    unsigned_bigint: Annotated[String, one_of("long", "precise")] = key(
        "bigint.unsigned.handling.mode", "long", importance="low", group=CONNECTOR,
        doc="What BIGINT UNSIGNED of MySQL and MariaDB becomes, by Debezium's name: long is INT64 and stops at a value "
        "above 9223372036854775807; precise is Decimal and holds all.",
    )  # fmt: skip
    reader: Annotated[String, one_of("auto", "generic")] = key(
        "reader", "auto", importance="low", group=CONNECTOR,
        doc="auto: rows come as Arrow where a driver for that is there. generic: through SQLAlchemy's driver.",
    )  # fmt: skip
    time_precision_mode: Annotated[String, one_of(*TimePrecision, "")] = key(
        "time.precision.mode", "", importance="low", group=CONNECTOR,
        doc="Debezium's types of dates and times (io.debezium.time): adaptive takes the smallest that holds the "
        "column's fractions of a second, adaptive_time_microseconds the same but MicroTime, microseconds, nanoseconds "
        "and isostring one form for all. Instants become ZonedTimestamp. connect or empty: Connect's types, and "
        "timestamps as timestamp.granularity says.",
    )  # fmt: skip

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys, in Confluent's order."""
        return rules.problems(self)

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield where the connection's URL means more or less here than in Java."""
        return connection_notes(self)

    @classmethod
    def validate_keys(cls, properties: Mapping[str, str | None]) -> tuple[KeyValue, ...]:
        """Validate as the base class does, and have forms show only the keys that fit the mode.

        query.masked is not shown at all, as with Confluent's connector.
        """
        mode = properties.get("mode") or ""
        hidden = {"query.masked"}
        if mode in MODES:
            hidden |= (set() if "incrementing" in mode else _OF_IDS) - (
                _OF_TIMESTAMPS if "timestamp" in mode else set()
            )
            hidden |= (set() if "timestamp" in mode else _OF_TIMESTAMPS) - (
                _OF_IDS if "incrementing" in mode else set()
            )
        values = super().validate_keys(properties)
        return tuple(
            replace(
                value,
                visible=value.name not in hidden,
                recommended_values=tuple(map(str.lower, value.recommended_values))
                if value.name in _LOWER_CASE
                else value.recommended_values,
            )
            for value in values
        )

    @classmethod
    def definitions(cls) -> tuple[KeyDefinition, ...]:
        """Return the definitions: Confluent's groups in its order, then the groups that are only ours."""
        groups = (DATABASE, MODE, CONNECTOR)
        return tuple(sorted(super().definitions(), key=lambda d: groups.index(d.group) if d.group in groups else 3))

    @property
    def delay_ms(self) -> int:
        """Return timestamp.delay.interval.ms, never below 0."""
        return max(0, self.timestamp_delay_ms)

    @property
    def interval_s(self) -> float:
        """Return poll.interval.ms in seconds, never 0."""
        return max(1, self.poll_interval_ms) / 1000

    def paced(self, rows: int) -> int:
        """Return how many rows are read at once: `rows`, or fewer if max.rows.per.second allows fewer in a second."""
        return min(rows, self.max_rows_per_second or rows)

    @property
    def query_text(self) -> str:
        """Return the query to read, empty when tables are read. May be secret: not for messages."""
        return self.query or self.query_masked.get_secret_value()

    @property
    def topic_format(self) -> str:
        """Return topic.name.format; with mode=log the default is Debezium's."""
        is_default = self.mode == "log" and "topic.name.format" not in self.originals
        return LOG_TOPIC_FORMAT if is_default else self.topic_name_format

    @property
    def quotes_identifiers(self) -> bool:
        """Return True if names are quoted in SQL."""
        return self.sql_quote_identifiers and self.quote_sql_identifiers.upper() == "ALWAYS"

    @property
    def time_precision(self) -> TimePrecision:
        """Return the value of time.precision.mode."""
        return TimePrecision(self.time_precision_mode or TimePrecision.CONNECT)

    @property
    def numeric(self) -> str:
        """Return numeric.mapping with its deprecated form, lower case."""
        if self.numeric_mapping is not None:
            return self.numeric_mapping.lower()
        return "precision_only" if self.numeric_precision_mapping else "none"

    @property
    def begin_ms(self) -> int:
        """Return the epoch milliseconds to begin after; -1 in timestamp.initial means now, which the caller has to
        resolve.
        """
        return self.timestamp_initial_ms if self.timestamp_initial is None else self.timestamp_initial


class JdbcTaskConfig(JdbcSourceConfig):
    """Declares the settings of a task: the connector's, and the task's share of the tables."""

    tables: String = key("tables", "", doc="The task's tables, quoted and separated by commas.", internal=True)
    first_reads: String = key("first.reads", "", doc="The task's parts of tables' first reads.", internal=True)
    heartbeat_topic: String = key("heartbeat.topic", "", doc="The heartbeat topic, if it is another.", internal=True)
