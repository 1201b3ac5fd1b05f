"""Declares the settings of the BigQuery sink, under the Java connector's names if it has them. Values only: no I/O.

Source of names and defaults: BigQuerySinkConfig of confluentinc/kafka-connect-bigquery 2.6 and of Aiven's fork 2.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Self

from pydantic import AfterValidator

from connect.api.config import (
    Boolean,
    Int,
    ListOf,
    Long,
    String,
    at_least,
    between,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigError, ConfigProblem
from connect.lib.cloud_names import dataset_name, project_name
from connectors.bigquery.dedup.rules import DedupRules
from connectors.bigquery.modes.choice import mode_of
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.rows.extras import Extras
from connectors.bigquery.rows.names import FieldNames, TableNames, is_table_name
from connectors.bigquery.rows.table_schema import ColumnType
from connectors.bigquery.rows.types import TypeRules
from connectors.bigquery.settings.config_checks import notes_of, problems_between
from connectors.bigquery.settings.config_dedup import size_or_off
from connectors.bigquery.settings.config_google import GoogleSettings, check_labels, labels_of
from connectors.bigquery.settings.java_keys import KNOWN, problems_of, with_new_names

TARGET, TABLES, LIMITS = "BigQuery", "Tables", "Limits"
TASKS_KEY: Final = "bigquery.tasks"
"""This key tells a task how many tasks the connector has."""


def _check_table_map(value: tuple[str, ...]) -> tuple[str, ...]:
    for pair in value:
        topic, found, table = pair.partition(":")
        if not found or not topic or not is_table_name(table):
            raise ValueError(f"{pair!r} is no topic:table")
    if len({pair.partition(":")[0] for pair in value}) < len(value):
        raise ValueError("A topic is named twice")
    return value


def _check_types(value: tuple[str, ...]) -> tuple[str, ...]:
    known = [kind for kind in ColumnType if kind not in {ColumnType.RECORD, ColumnType.BYTES}]
    for pair in value:
        path, found, kind = pair.rpartition(":")
        if not found or not path or kind.upper() not in known:
            raise ValueError(f"{pair!r} is no field:TYPE with a type of {', '.join(known)}")
    return value


class BigQuerySinkConfig(GoogleSettings):
    """Declares the Java connector's settings, and those of this sink: `dedup.*`, `buffer.max.bytes`, `bigquery.*`."""

    project: Annotated[String, non_empty, AfterValidator(project_name)] = key(
        "project", doc="The Google Cloud project of the dataset.", importance="high", group=TARGET
    )
    dataset: Annotated[String, non_empty, AfterValidator(dataset_name)] = key(
        "defaultDataset", doc="The dataset of all tables, which must exist.", importance="high", group=TARGET
    )
    auto_create: Boolean = key(
        "autoCreateTables", True, doc="Create tables that are missing.", importance="high", group=TABLES
    )
    sanitize_topics: Boolean = key(
        "sanitizeTopics", False, doc="Put _ for each character that a table's plain name may not have.", group=TABLES
    )
    sanitize_fields: Boolean = key(
        "sanitizeFieldNames", False, doc="Put _ for each character that a column's name may not have.", group=TABLES
    )
    table_map: Annotated[ListOf, AfterValidator(_check_table_map)] = key(
        "topic2TableMap", (), doc="Tables of topics, as topic:table,…; these topics are not sanitized.", group=TABLES
    )
    allow_new_fields: Boolean = key(
        "allowNewBigQueryFields", False, doc="Add columns to a table when records have new fields.", group=TABLES
    )
    allow_relaxation: Boolean = key(
        "allowBigQueryRequiredFieldRelaxation", False,
        doc="Make a REQUIRED column NULLABLE when a field of records has become optional.", group=TABLES,
    )  # fmt: skip
    ignore_unknown: Boolean = key(
        "ignoreUnknownFields", False,
        doc="Leave fields out that a table has no column for, where allowNewBigQueryFields is false.", group=TABLES,
    )  # fmt: skip
    debezium_integers: Boolean = key(
        "convertDebeziumTimestampToInteger", False,
        doc="Columns of new tables for Debezium's timestamps are INTEGER, not TIMESTAMP.", group=TABLES,
    )  # fmt: skip
    all_nullable: Boolean = key(
        "allBQFieldsNullable", False, doc="Make every column of a new table NULLABLE.", group=TABLES
    )
    decimals: Annotated[String, one_of("FLOAT", "NUMERIC", "BIGNUMERIC", ignore_case=True)] = key(
        "decimalHandlingMode", "FLOAT",
        doc="Column of Decimals in new tables. FLOAT, the Java connector's choice, keeps about 15 digits; NUMERIC and "
        "BIGNUMERIC keep all.", group=TABLES,
    )  # fmt: skip
    partition_field: String = key(
        "timestampPartitionFieldName", "", doc="Column by which a new table is partitioned; empty: time of arrival.",
        group=TABLES,
    )  # fmt: skip
    partitioning: Annotated[String, one_of("HOUR", "DAY", "MONTH", "YEAR", "NONE", ignore_case=True)] = key(
        "timePartitioningType", "DAY", doc="Time that one partition of a new table covers; NONE: no partitions.",
        group=TABLES,
    )  # fmt: skip
    partition_expiration_ms: Annotated[Long, size_or_off] = key(
        "partitionExpirationMs", -1, doc="A new table's partitions are dropped after this time; -1: never.",
        group=TABLES,
    )  # fmt: skip
    clustering: ListOf = key(
        "clusteringPartitionFieldNames", (),
        doc="At most 4 columns by which a new table is clustered; empty: the dedup fields.", group=TABLES,
    )  # fmt: skip
    column_types: Annotated[ListOf, AfterValidator(_check_types)] = key(
        "table.column.types", (),
        harmless="names of fields and types",
        doc="Types of new columns, as field:TYPE,… with the path of the field and one of JSON, GEOGRAPHY, DATETIME, "
        "TIMESTAMP, DATE, TIME, NUMERIC, BIGNUMERIC, FLOAT, INTEGER, BOOLEAN, STRING.", group=TABLES,
    )  # fmt: skip
    labels: Annotated[ListOf, AfterValidator(check_labels)] = key(
        "table.labels", (), doc="Labels of new tables, as key:value,…", group=TABLES
    )
    primary_key: ListOf = key(
        "table.primary.key", (),
        doc="Columns that BigQuery takes for the primary key of a new table, which it does not enforce; empty: with "
        "dedup.mode=cdc the dedup fields, else none.", group=TABLES,
    )  # fmt: skip
    staging_suffix: Annotated[String, non_empty] = key(
        "intermediateTableSuffix", "tmp",
        harmless="a part of names that stand quoted in SQL",
        doc="Part of the names of staging tables: _<table>_<suffix>_<batch>.",
        importance="low", group=TABLES,
    )  # fmt: skip

    key_column: String = key(
        "kafkaKeyFieldName", "", doc="Column for the record's key; empty: keys are not stored.", group=TABLES
    )
    coordinates_column: String = key(
        "kafkaDataFieldName", "",
        doc="Column (a record) for topic, partition, offset and time of arrival; empty: none.", group=TABLES,
    )  # fmt: skip

    use_storage_api: Boolean = key(
        "useStorageWriteApi", False,
        doc="Without dedup: add rows by the Storage Write API's default stream, not by insertAll.", group=LIMITS,
    )  # fmt: skip
    batch_load: ListOf = key(
        "enableBatchLoad", (),
        doc="Without dedup: topics whose rows are added by load jobs, every batchLoadIntervalSec. They need no bucket.",
        group=LIMITS,
    )  # fmt: skip
    batch_load_interval_s: Annotated[Int, at_least(1)] = key(
        "batchLoadIntervalSec", 120, doc="Time between two load jobs of a table of enableBatchLoad.", group=LIMITS
    )
    batch_mode: Boolean = key(
        "enableBatchMode", False,
        doc="Without dedup: the rows of all topics are added by load jobs, every commitInterval.", group=LIMITS,
    )  # fmt: skip
    commit_interval_s: Annotated[Int, between(15, 14_400)] = key(
        "commitInterval", 60, doc="Seconds between two load jobs of a table with enableBatchMode.", group=LIMITS
    )
    threads: Annotated[Int, between(1, 64)] = key(
        "threadPoolSize", 10, doc="Most tables of a task that are made ready, or staged and merged, at the same time.",
        importance="low", group=LIMITS,
    )  # fmt: skip
    buffer_max_bytes: Annotated[Long, at_least(1)] = key(
        "buffer.max.bytes", 134_217_728,
        doc="Bytes of rows that a task holds. A table's batch ends at half of it, and with all of it nothing more is "
        "taken until a batch is merged.", importance="low", group=LIMITS,
    )  # fmt: skip
    tasks: Annotated[Int, at_least(1)] = key(
        TASKS_KEY, 1, doc="Set for tasks by the connector: how many there are.", importance="low", group=LIMITS,
        internal=True,
    )  # fmt: skip

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        """Return the typed settings. Keys of version 1 of the Java connector are read as the keys of today."""
        given = with_new_names(properties)
        refused = tuple(problems_of({name: value for name, value in given.items() if value is not None}))
        try:
            found = super().parse(given)
        except ConfigError as error:
            raise ConfigError((*error.problems, *refused)) from None
        if refused:
            raise ConfigError(refused)
        return found

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Return the keys that neither this declaration nor the Java connector knows."""
        return super().unknown_keys(name for name in properties if name not in KNOWN)

    def named_files(self) -> Iterable[tuple[str, str]]:
        """Return the files that hold an account's key and prices, if the settings name them."""
        return (*self.key_files(), *self.price_files())

    def problems(self) -> Iterable[ConfigProblem]:
        """Return a problem for each contradiction between keys."""
        return problems_between(self)

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield notes if a record can become two rows, or if a search costs more than it has to."""
        return notes_of(self)

    @property
    def mode(self) -> Mode:
        """Return the mode that dedup.mode means with the other settings."""
        return mode_of(self)

    @property
    def dedup(self) -> DedupRules:
        """Return the rules by which records are told apart."""
        return self.mode.rules

    @property
    def extras(self) -> Extras:
        """Return the columns that are added beside those of the value's fields."""
        return Extras(self.key_column, self.coordinates_column)

    def table_path(self, table: str) -> str:
        """Return the name of a table for messages."""
        return f"{self.project}.{self.dataset}.{table}"

    @property
    def table_labels(self) -> dict[str, str]:
        """Return the labels of new tables."""
        return labels_of(self.labels)

    @property
    def field_names(self) -> FieldNames:
        """Return the rule by which columns are named."""
        return FieldNames(self.sanitize_fields)

    @property
    def table_names(self) -> TableNames:
        """Return the rule by which tables are named."""
        pairs = (pair.partition(":") for pair in self.table_map)
        return TableNames(self.sanitize_topics, {topic: table for topic, _, table in pairs})

    @property
    def type_rules(self) -> TypeRules:
        """Return the rules by which columns are made of schemas."""
        pairs = (pair.rpartition(":") for pair in self.column_types)
        return TypeRules(
            self.field_names, ColumnType(self.decimals.upper()), self.all_nullable, self.debezium_integers,
            {path: ColumnType(kind.upper()) for path, _, kind in pairs},
        )  # fmt: skip
