"""Declares the settings of the JDBC sink: Confluent's keys, Aiven's where they differ. No driver, no I/O.

Source: JdbcSinkConfig of confluentinc/kafka-connect-jdbc 10.9 and of Aiven's jdbc-connector-for-apache-kafka 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator

from connect.api.config import Boolean, Int, ListOf, String, at_least, key, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.api.url import Url, UrlText
from connect.lib.key_role import KeyRole
from connectors.jdbc.settings.connection_keys import DATABASE, DIALECTS, URL_BOUNDS, URL_REACH, ConnectionKeys
from connectors.jdbc.sink.settings import config_rules
from connectors.jdbc.sink.settings.retries import WITHOUT_END
from connectors.jdbc.values.java_zones import zone

WRITES, MAPPING, DDL = "Writes", "Data Mapping", "DDL Support"
KAFKA_COLUMNS = ("__connect_topic", "__connect_partition", "__connect_offset")
TABLE_TYPES = ("TABLE", "PARTITIONED TABLE", "VIEW")
Lower = AfterValidator(str.lower)


def _check_zone(value: str) -> str:
    zone(value)
    return value


class JdbcSinkConfig(ConnectionKeys):
    """Declares everything a user may say about writing tables."""

    connection_url: Url = key(
        "connection.url", UrlText(""), importance="high", group=DATABASE, display_name="JDBC URL", width="long",
        reach=URL_REACH, bounds=URL_BOUNDS,
        doc="Where the database is: a JDBC URL (jdbc:sqlite:, jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:, "
        "jdbc:firebirdsql:) or a SQLAlchemy URL of one of these databases. Keep the password in connection.password.",
    )  # fmt: skip
    dialect_name: Annotated[String, one_of(*DIALECTS)] = key(
        "dialect.name", "", importance="low", group=DATABASE, display_name="Database Dialect", width="long",
        doc="Accepted when it agrees with connection.url.",
    )  # fmt: skip
    insert_mode: Annotated[String, one_of("insert", "upsert", "update", "multi", ignore_case=True), Lower] = key(
        "insert.mode", "insert", importance="high", group=WRITES, display_name="Insert Mode",
        doc="insert adds rows; upsert replaces the row of the same key; update changes rows that are there. multi is "
        "Aiven's name of insert.",
    )  # fmt: skip
    batch_size: Annotated[Int, at_least(0)] = key(
        "batch.size", 3000, group=WRITES, display_name="Batch Size", width="short", role=KeyRole.PAGE_ROWS,
        doc="The most rows of one statement; 0 is as 1. All rows of a batch of records are one transaction.",
    )  # fmt: skip
    max_retries: Annotated[Int, at_least(WITHOUT_END)] = key(
        "max.retries", WITHOUT_END, group=WRITES, display_name="Maximum Retries", width="short",
        doc="How often a batch is written again while the database is away, before the task fails; -1: for as long as "
        "it takes. Java's connectors have 10.",
    )  # fmt: skip
    retry_backoff_ms: Annotated[Int, at_least(0)] = key(
        "retry.backoff.ms", 0, group=WRITES, display_name="Retry Backoff (millis)", width="short",
        doc="The least wait between two of these tries, which grows by itself. Java's connectors have 3000.",
    )  # fmt: skip
    delete_enabled: Boolean = key(
        "delete.enabled", False, group=WRITES, display_name="Enable deletes", width="short",
        doc="Whether a record without a value deletes the row of its key; needs pk.mode=record_key.",
    )  # fmt: skip
    handle_tombstone: Boolean = key(
        "handle.tombstone", False, group=WRITES, doc="Aiven's: true leaves records without a value out."
    )
    exactly_once: Boolean = key(
        "exactly.once", False, importance="high", group=WRITES,
        doc="Whether offsets are noted in the database, in the transaction of their rows: each record is then written "
        "once, also where rows have no key. Needs the right to make and write exactly.once.table.",
    )  # fmt: skip
    offsets_table: Annotated[String, non_empty] = key(
        "exactly.once.table", "connect_offsets", importance="low", group=WRITES,
        doc="The table for that; several connectors may share it.",
    )  # fmt: skip
    chunks_table: Annotated[String, non_empty] = key(
        "backfill.table", "connect_chunks", importance="low", group=WRITES,
        doc="The table in which backfills note their chunks, in the transactions of their rows.",
    )  # fmt: skip
    table_types: Annotated[ListOf, one_of(*TABLE_TYPES, ignore_case=True)] = key(
        "table.types", ("TABLE",), importance="low", group=WRITES, display_name="Table Types",
        doc="What may be written: TABLE, which partitioned tables are, too, and VIEW.",
    )  # fmt: skip
    replace_null: Boolean = key(
        "replace.null.with.default", True, importance="low", group=WRITES, display_name="Replace null with default",
        doc="Whether a null becomes the default of its field's schema, where there is one.",
    )  # fmt: skip
    table_name_format: Annotated[String, non_empty] = key(
        "table.name.format", "${topic}", group=MAPPING, display_name="Table Name Format", width="long",
        doc="The table of a topic, as ${topic} or audit.kafka_${topic}; dots part database or schema and table, unless "
        "they are in quotes.",
    )  # fmt: skip
    table_name_normalize: Boolean = key(
        "table.name.normalize", False, group=MAPPING,
        doc="Aiven's: whatever is no letter of ASCII, digit or _ in a topic becomes _ in ${topic}.",
    )  # fmt: skip
    topic_tables: ListOf = key(
        "topics.to.tables.mapping", (), group=MAPPING,
        doc="Aiven's: topic:table pairs, which win over table.name.format.",
    )  # fmt: skip
    pk_mode: Annotated[String, one_of("none", "kafka", "record_key", "record_value", ignore_case=True), Lower] = key(
        "pk.mode", "none", importance="high", group=MAPPING, display_name="Primary Key Mode",
        doc="What a row's key is: nothing, its place in Kafka (topic, partition, offset), the record's key, or fields "
        "of its value.",
    )  # fmt: skip
    pk_fields: ListOf = key(
        "pk.fields", (), group=MAPPING, display_name="Primary Key Fields", width="long",
        doc="The columns of the key. pk.mode=kafka: three names, by default __connect_topic, __connect_partition and "
        "__connect_offset. record_key, record_value: fields of it, by default all; for a key that is no struct the "
        "column's name.",
    )  # fmt: skip
    fields_whitelist: ListOf = key(
        "fields.whitelist", (), group=MAPPING, display_name="Fields Whitelist", width="long",
        doc="Fields of the value that are written beside those of the key; empty: all.",
    )  # fmt: skip
    db_timezone: Annotated[String, AfterValidator(_check_zone)] = key(
        "db.timezone", "UTC", group=MAPPING, display_name="DB Time Zone",
        doc="The zone of dates and times in columns without a zone.",
    )  # fmt: skip
    date_timezone: Annotated[String, one_of("DB_TIMEZONE", "UTC", ignore_case=True)] = key(
        "date.timezone", "DB_TIMEZONE", importance="low", group=MAPPING, display_name="Time Zone used for Date",
        doc="DB_TIMEZONE reads the midnight of a date in db.timezone, as Confluent's connector does, which west of "
        "Greenwich is the day before; UTC keeps the day.",
    )  # fmt: skip
    timestamp_fields: ListOf = key(
        "timestamp.fields.list", (), importance="low", group=MAPPING,
        doc="Fields of the value that are timestamps: INT64 as timestamp.precision.mode says, or text in ISO 8601.",
    )  # fmt: skip
    timestamp_precision: Annotated[String, one_of("microseconds", "nanoseconds", ignore_case=True), Lower] = key(
        "timestamp.precision.mode", "microseconds", importance="low", group=MAPPING,
        doc="What numbers of timestamp.fields.list count, since 1970.",
    )  # fmt: skip
    auto_create: Boolean = key(
        "auto.create", False, group=DDL, display_name="Auto-Create", width="short",
        doc="Whether a table that is missing is made from the schema of its records.",
    )  # fmt: skip
    auto_evolve: Boolean = key(
        "auto.evolve", False, group=DDL, display_name="Auto-Evolve", width="short",
        doc="Whether a column that is missing is added, when its field is optional or has a default.",
    )  # fmt: skip
    quote_identifiers: Annotated[String, one_of("ALWAYS", "NEVER", ignore_case=True)] = key(
        "quote.sql.identifiers", "ALWAYS", group=DDL, display_name="Quote Identifiers",
        doc="NEVER: names of tables and new columns are of lower case on PostgreSQL, as it reads them without quotes.",
    )  # fmt: skip
    sql_quote_identifiers: Boolean = key(
        "sql.quote.identifiers", True, group=DDL, doc="Aiven's name: false is quote.sql.identifiers=NEVER."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys."""
        return config_rules.problems(self)

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield where a restart can write a row twice, and keys that change nothing."""
        return config_rules.notes(self)

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Yield the keys that are not declared, without those that are known to change nothing."""
        return super().unknown_keys(name for name in properties if name not in config_rules.WITHOUT_EFFECT)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return pk.fields; with pk.mode=kafka the list is never empty."""
        return self.pk_fields or (KAFKA_COLUMNS if self.pk_mode == "kafka" else ())

    @property
    def is_keyed(self) -> bool:
        """Return True if a record that is written again finds its row."""
        return self.insert_mode in {"upsert", "update"}

    @property
    def keeps_case(self) -> bool:
        """Return True if names are as they are given."""
        return self.quote_identifiers.upper() == "ALWAYS" and self.sql_quote_identifiers

    @property
    def zone(self) -> ZoneInfo:
        """Return the zone of db.timezone."""
        return zone(self.db_timezone)

    @property
    def date_zone(self) -> ZoneInfo:
        """Return the zone in which a date's midnight is read."""
        return self.zone if self.date_timezone.upper() == "DB_TIMEZONE" else zone("UTC")
