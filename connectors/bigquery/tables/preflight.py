"""Checks the dataset, the right to run jobs, and the existing tables before a connector runs. It only reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain

from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.api.optional.findings import Aspect, Finding, Weight
from connectors.bigquery.dedup.rules import key_column_problem, placed
from connectors.bigquery.dedup.window import PARTITIONABLE
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.view_names import taken_names
from connectors.bigquery.rows.paths import Path, Root
from connectors.bigquery.rows.table_schema import REPEATED, Columns, ColumnType, by_name
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.key_changes import check_keys
from connectors.bigquery.tables.mode_changes import check_change, kept_choice
from connectors.bigquery.warehouse.errors import RefusedAccessError
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_DATA_EDITOR = 'GRANT `roles/bigquery.dataEditor` ON SCHEMA `{project}`.`{dataset}` TO "serviceAccount:{account}";'
_JOB_USER = (
    "gcloud projects add-iam-policy-binding {project} --member=serviceAccount:{account} --role=roles/bigquery.jobUser"
)
_NO_ORDER = frozenset({ColumnType.JSON, ColumnType.GEOGRAPHY, ColumnType.RECORD})


def check(config: BigQuerySinkConfig, warehouse: Warehouse) -> None:
    """Raise ConfigError that names all problems, each with its table, field and fix.

    With transforms the tables are looked at only when records come, as a record's table may not be its topic's.
    """
    warehouse.look()
    if config.mode.runs_jobs:
        warehouse.scanned_bytes("SELECT 1")
    if config.originals.get("transforms", "").strip():
        return
    found = warehouse.side_by_side(
        lambda topic: list(_of_topic(config, warehouse, topic)), config.named_topics, config.threads
    )
    if problems := list(chain.from_iterable(found)):
        raise ConfigError(problems)


def missing_roles(config: BigQuerySinkConfig, warehouse: Warehouse, account: str) -> Iterator[Finding]:
    """Yield the roles that the account lacks, each with a command that grants it. `account` is its address."""
    tries = (
        (warehouse.look, _DATA_EDITOR.format(project=config.project, dataset=config.dataset, account=account)),
        (partial(warehouse.scanned_bytes, "SELECT 1"), _JOB_USER.format(project=config.project, account=account)),
    )
    for attempt, remedy in tries:
        try:
            attempt()
        except RefusedAccessError as error:
            yield Finding(Aspect.REACH, error.message, remedy, Weight.FAILS)


def _of_topic(config: BigQuerySinkConfig, warehouse: Warehouse, topic: str) -> Iterator[ConfigProblem]:
    try:
        target = config.table_names.table(topic)
    except ConnectError as error:
        yield ConfigProblem(error.key or "topics", str(error))
        return
    name = config.table_path(target)
    table = warehouse.table(target)
    if table is None:
        if not config.auto_create:
            yield ConfigProblem(
                "autoCreateTables", f"Table {name} does not exist. Create it, or set autoCreateTables=true."
            )
        return
    yield from _of_kept_view(config, warehouse, table)
    try:
        check_change(config, warehouse, table)
        if Path(Root.KEY) not in config.dedup.fields:  # the first records show what keys are like
            check_keys(config, warehouse, table, placed(config.dedup, config.field_names, None, config.key_column))
    except ConfigError as error:
        yield from error.problems
        return
    yield from _of_keys(config, name, table.columns)
    yield from _of_order(config, name, table.columns)
    if config.dedup_window.lower() != "none":
        column = by_name(table.columns).get(config.partition_field.lower())
        if column is None or column.type not in PARTITIONABLE:
            yield ConfigProblem(
                "timestampPartitionFieldName",
                f"Table {name} has no column {config.partition_field} that is a date or a timestamp, by which "
                "dedup.window could search it. Name the column by which it is partitioned, or set dedup.window=none.",
            )


def _of_kept_view(config: BigQuerySinkConfig, warehouse: Warehouse, table: TableFacts) -> Iterator[ConfigProblem]:
    """Yield a problem if dedup.mode=auto keeps to compact for a table whose view has the name of a topic's table."""
    if not config.mode.chooses:
        return
    problems = list(taken_names(config.named_topics, config.table_names, config.view_suffix, only=table.name))
    kept = kept_choice(warehouse, table) if problems else None
    if kept is not None and kept.mode == CompactMode.name:
        yield from problems


def _of_keys(config: BigQuerySinkConfig, table: str, columns: Columns) -> Iterator[ConfigProblem]:
    for path in config.dedup.fields:
        yield from _if_missing(config, table, columns, path, "dedup.fields")
        column = by_name(columns).get(_column(config, path).lower())
        problem = None if column is None else key_column_problem(column)
        if problem is not None:
            yield ConfigProblem("dedup.fields", f"Table {table}: {problem}")


def _of_order(config: BigQuerySinkConfig, table: str, columns: Columns) -> Iterator[ConfigProblem]:
    for path in config.dedup.order_by if config.mode.sorts_in_sql else ():
        yield from _if_missing(config, table, columns, path, "dedup.order.by")
        column = by_name(columns).get(_column(config, path).lower())
        if column is not None and (column.type in _NO_ORDER or column.mode == REPEATED):
            yield ConfigProblem(
                "dedup.order.by",
                f"Table {table}: values of column {column.name} ({column.mode} {column.type}) have no order. Name a "
                "number, a text or a time.",
            )


def _if_missing(
    config: BigQuerySinkConfig, table: str, columns: Columns, path: Path, key: str
) -> Iterator[ConfigProblem]:
    name = _column(config, path)
    if name and name.lower() not in by_name(columns) and not config.allow_new_fields:
        known = ", ".join(column.name for column in columns)
        yield ConfigProblem(
            key,
            f"Table {table} has no column {name}, which {key} names; it has {known}. Add the column, name another "
            "field, or set allowNewBigQueryFields=true.",
        )


def _column(config: BigQuerySinkConfig, path: Path) -> str:
    """Return the column of a field of the value; empty for other fields, whose columns the sink adds itself."""
    if path.root is not Root.VALUE or len(path.names) != 1:
        return ""
    return config.field_names.column(path.names[0], str(path))
