"""Declares the settings of Debezium's JDBC sink by its own keys. No driver, no I/O.

Source: JdbcSinkConnectorConfig of debezium-connector-jdbc 3.6; older names from the documentation of 2.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from pydantic import AfterValidator, SecretStr

from connect.api.config import Boolean, ClassName, Int, ListOf, Long, Password, String, at_least, key, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.api.url import Url, UrlText
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.key_role import KeyRole
from connectors.jdbc.settings.connection_keys import URL_BOUNDS, URL_REACH, AddressKeys
from connectors.jdbc.sink.debezium import rules
from connectors.jdbc.sink.debezium.unused_keys import HIBERNATE, WITHOUT_EFFECT
from connectors.jdbc.sink.settings.retries import WITHOUT_END
from connectors.jdbc.values.java_zones import zone

CONNECTION, WRITES, TABLES = "Connection", "Writes", "Tables"
KEY_MODES: Final = ("none", "kafka", "record_key", "record_value", "record_header")
_NAMING: Final = "io.debezium.sink.naming."
AS_THEY_ARE: Final = f"{_NAMING}PassthroughCollectionNamingStrategy"
TABLE_NAMINGS: Final = (
    f"{_NAMING}DefaultCollectionNamingStrategy",
    AS_THEY_ARE,
    "io.debezium.connector.jdbc.naming.DefaultTableNamingStrategy",
)
COLUMN_NAMINGS: Final = (
    "io.debezium.connector.jdbc.naming.DefaultColumnNamingStrategy",
    f"{_NAMING}DefaultColumnNamingStrategy",
)
CLOUD_EVENTS: Final = r".*CloudEvents\.Envelope$"
_Lower = AfterValidator(str.lower)


def _check_zone(value: str) -> str:
    zone(value)
    return value


def _check_pattern(value: str) -> str:
    try:
        compile_pattern(value)
    except JavaPatternError as error:
        raise ValueError(f"it is no regular expression: {error}") from error
    return value


class DebeziumSinkConfig(AddressKeys):
    """Declares everything a user may say about Debezium's JDBC sink."""

    families = (HIBERNATE,)

    connection_url: Url = key(
        "connection.url", UrlText(""), importance="high", group=CONNECTION, width="long", reach=URL_REACH,
        bounds=URL_BOUNDS,
        doc="Where the database is: a JDBC URL (jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:, jdbc:sqlite:, "
        "jdbc:firebirdsql:) or a SQLAlchemy URL of one of these databases.",
    )  # fmt: skip
    username: String = key("connection.username", "", importance="high", group=CONNECTION, doc="The database user.")
    password: Password = key(
        "connection.password", SecretStr(""), importance="high", group=CONNECTION, doc="The database user's password."
    )
    insert_mode: Annotated[String, one_of("insert", "upsert", "update", ignore_case=True), _Lower] = key(
        "insert.mode", "insert", importance="high", group=WRITES,
        doc="insert adds rows; upsert replaces the row of the same key; update changes rows that are there.",
    )  # fmt: skip
    delete_enabled: Boolean = key(
        "delete.enabled", False, group=WRITES,
        doc="Whether events of deletes and records without a value delete the row of their key, which needs "
        "primary.key.mode=record_key; else they are left out.",
    )  # fmt: skip
    truncate_enabled: Boolean = key(
        "truncate.enabled", False, group=WRITES,
        doc="Whether an event of a truncation empties the table; else it is left out.",
    )  # fmt: skip
    batch_size: Annotated[Int, at_least(1)] = key(
        "batch.size", 500, group=WRITES, width="short", role=KeyRole.PAGE_ROWS, doc="The most rows of one statement."
    )
    max_retries: Annotated[Int, at_least(WITHOUT_END)] = key(
        "flush.max.retries", WITHOUT_END, importance="low", group=WRITES, width="short",
        doc="How often a batch is written again while the database is away, before the task fails; -1: for as long as "
        "it takes. Debezium has 5.",
    )  # fmt: skip
    retry_delay_ms: Annotated[Long, at_least(0)] = key(
        "flush.retry.delay.ms", 0, importance="low", group=WRITES, width="short",
        doc="The least wait between two of these tries, which grows by itself. Debezium has 1000.",
    )  # fmt: skip
    time_zone: Annotated[String, AfterValidator(_check_zone)] = key(
        "use.time.zone", "UTC", group=WRITES, former=("database.time_zone",),
        doc="The zone of times of day with a zone (ZonedTime) in MariaDB's and MySQL's columns, which have none. "
        "Moments with a zone are written as such, and as the clock of UTC where a column has no zone.",
    )  # fmt: skip
    key_mode: Annotated[String, one_of(*KEY_MODES, ignore_case=True), _Lower] = key(
        "primary.key.mode", "none", importance="high", group=TABLES,
        doc="What a row's key is: nothing, its place in Kafka (topic, partition, offset), the record's key, fields of "
        "its value, or its headers.",
    )  # fmt: skip
    key_fields: ListOf = key(
        "primary.key.fields", (), group=TABLES,
        doc="The fields of the record's key or value that are the row's key; empty: all of them. For a key that is no "
        "struct the column's name.",
    )  # fmt: skip
    name_format: Annotated[String, non_empty] = key(
        "collection.name.format", "${topic}", group=TABLES, width="long", former=("table.name.format",),
        doc="The table of a record: ${topic} is its topic with _ for each dot, ${source.FIELD} a text of the event's "
        "source, as ${source.table}; dots part schema and table.",
    )  # fmt: skip
    table_naming: Annotated[ClassName, one_of(*TABLE_NAMINGS)] = key(
        "collection.naming.strategy", TABLE_NAMINGS[0], importance="low", group=TABLES, width="long",
        former=("table.naming.strategy",),
        doc="Java's class that names tables. Its own ones are known here: the passthrough leaves the topic's dots.",
    )  # fmt: skip
    column_naming: Annotated[ClassName, one_of(*COLUMN_NAMINGS)] = key(
        "column.naming.strategy", COLUMN_NAMINGS[0], importance="low", group=TABLES, width="long",
        doc="Java's class that names columns. Its own ones are known here, which keep the field's name.",
    )  # fmt: skip
    schema_evolution: Annotated[String, one_of("none", "basic", ignore_case=True), _Lower] = key(
        "schema.evolution", "none", group=TABLES,
        doc="basic makes a table that is missing and adds columns that are missing, by the schema of the records.",
    )  # fmt: skip
    quote_identifiers: Boolean = key(
        "quote.identifiers", False, group=TABLES,
        doc="true keeps the case of names; false makes those of columns lower case, on PostgreSQL those of tables, "
        "too. Names are quoted either way.",
    )  # fmt: skip
    cloud_events_pattern: Annotated[String, AfterValidator(_check_pattern)] = key(
        "cloud.events.schema.name.pattern", CLOUD_EVENTS, importance="low", group=TABLES, width="long",
        doc="Which names of schemas are those of CloudEvents, as a regular expression: of these the data is written.",
    )  # fmt: skip
    field_include: ListOf = key(
        "field.include.list", (), group=TABLES,
        doc="The only fields that are written, each as its name or as topic:name; fields of the key are, too, where "
        "primary.key.fields names them.",
    )  # fmt: skip
    field_exclude: ListOf = key("field.exclude.list", (), group=TABLES, doc="Likewise, fields that are not written.")

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys."""
        return rules.problems(self)

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield where a restart can write a row twice, and keys that change nothing."""
        return rules.notes(self)

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Yield the keys that are not Debezium's. Those that it passes on to its library are Debezium's."""
        own = (name for name in properties if name not in WITHOUT_EFFECT and not name.startswith(HIBERNATE))
        yield from super().unknown_keys(own)

    @property
    def finds_rows(self) -> bool:
        """Return True if a record changes or deletes the row of its key."""
        return not self.changes_all and (self.insert_mode != "insert" or self.delete_enabled)

    @property
    def changes_all(self) -> bool:
        """Return True if a record changes each row of its table, as it has no key to find its own by."""
        return self.insert_mode == "update" and self.key_mode == "none"

    @property
    def keeps_dots(self) -> bool:
        """Return True if a topic's dots stay in ${topic}, and part schema and table then."""
        return self.table_naming == AS_THEY_ARE
