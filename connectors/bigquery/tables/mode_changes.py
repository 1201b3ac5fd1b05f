"""Decides which dedup.mode may go on with a table that another mode has written, and says what to do if it may not.

`merge`, `compact` and `auto` may follow each other, and `view` may follow them, as they keep the same rows. With
a table of `view` or `cdc` no other mode of one row per key may go on, as it would lose rows or add them twice. `cdc`
may not follow a mode that merged: BigQuery knows neither the orders of the existing rows nor the deletes, so an older
record that comes late, or again, would replace a row.
"""

from __future__ import annotations

from connect.api.errors import ConfigError
from connectors.bigquery.dedup.side_tables import MODE_LABEL, REASON_LABEL, log_table, merges_table
from connectors.bigquery.modes.auto import CHANGING, CHOICES, HAS_LOG, MERGED, Choice, choice_in
from connectors.bigquery.modes.cdc import CdcMode
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.view import ViewMode
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse


def check_change(config: BigQuerySinkConfig, warehouse: Warehouse, table: TableFacts) -> None:
    """Raise ConfigError if the mode of the configuration would lose rows of a table, or add them twice."""
    mode, written_by = config.mode, "" if is_changing(table) else table.labels.get(MODE_LABEL, "")
    keeps_rows = (mode.is_keyed or mode.merges_rows) and mode.name != written_by
    if written_by == ViewMode.name and keeps_rows:
        raise _holds_every_record(config, table.name)
    if written_by == CdcMode.name and keeps_rows:
        raise _has_changes(config, table.name)
    if mode.name == CdcMode.name and written_by != CdcMode.name and kept_choice(warehouse, table) is not None:
        raise _was_merged(config, table.name)
    if mode.name != written_by or not mode.owns_table:
        check_log(config, warehouse, table.name)


def is_changing(table: TableFacts) -> bool:
    """Return True while a mode takes the table over from one that merged; the former mode wrote all rows till then."""
    return table.labels.get(REASON_LABEL) == CHANGING


def check_log(config: BigQuerySinkConfig, warehouse: Warehouse, target: str) -> None:
    """Raise ConfigError if the table's log has rows that the mode of the configuration would never merge."""
    mode = config.mode
    if mode.keeps_log or mode.merges_log:
        return
    log = warehouse.table(log_table(target))
    if log is not None and log.rows:
        raise ConfigError(
            f"Table {config.table_path(target)} lacks {log.rows} rows that dedup.mode=compact has written to "
            f"{log.name}, and dedup.mode={mode.name} would leave them there.",
            key="dedup.mode",
            fix="Set dedup.mode=merge, which merges them with its first batch, and change the mode then. Where other "
            f"tables of the connector are of dedup.mode={mode.name} by now, do so in a connector for this table alone.",
        )


def require_merged(warehouse: Warehouse, target: str) -> TableFacts | None:
    """Return the table as it is now, if rows may be merged into it; None if it is gone.

    Raise ConfigError if its label by now names a mode that does not merge.
    """
    table = warehouse.table(target)
    mode = "" if table is None else table.labels.get(MODE_LABEL, "")
    if mode and mode not in CHOICES:
        raise ConfigError(
            f"Table {target} is one of dedup.mode={mode} since this process began to merge its rows, and a merge would "
            "change rows that readers see. These rows are not merged, and their offsets are not committed.",
            key="dedup.mode",
            fix=f"Stop this process, where another one writes the table by now; else set dedup.mode={mode}, or another "
            "table in topic2TableMap.",
        )
    return table


def kept_choice(warehouse: Warehouse, table: TableFacts) -> Choice | None:
    """Return the mode that has written an existing table, merge or compact; None if neither has."""
    chosen = choice_in(table.labels)
    if chosen is not None:
        return chosen
    if warehouse.table(log_table(table.name)) is not None:
        return Choice(CompactMode.name, HAS_LOG)
    if warehouse.table(merges_table(table.name)) is not None:
        return Choice(MergeMode.name, MERGED)
    return None


def _holds_every_record(config: BigQuerySinkConfig, target: str) -> ConfigError:
    path, view = config.table_path(target), f"{config.table_path(target)}{config.view_suffix}"
    return ConfigError(
        f"Table {path} holds every record, as dedup.mode=view has added them, and dedup.mode={config.mode.name} keeps "
        "one row of each key: records of one key would stay as doubles.",
        key="dedup.mode",
        fix=f"Stop the connector, run CREATE TABLE `{path}_rows` AS SELECT * FROM `{view}`, which leaves one row of "  # noqa: S608 - the text advises a person, and is not run
        "each key, and name that table in topic2TableMap; or set dedup.mode=view again. Behind the table's name, write "
        f"the PARTITION BY and CLUSTER BY of {path}, and do not put the copy in its place: a process of view "
        "that was frozen, and goes on, adds records to it. Deletes are not copied: an older record that comes late, or "
        "is read again, brings its row back.",
    )


def _has_changes(config: BigQuerySinkConfig, target: str) -> ConfigError:
    path = config.table_path(target)
    return ConfigError(
        f"Table {path} was written by dedup.mode=cdc, and dedup.mode={config.mode.name} cannot go on with it: BigQuery "
        "changes such a table by its primary key alone, and refuses UPDATE, DELETE and MERGE.",
        key="dedup.mode",
        fix=f"Set dedup.mode=cdc again; or stop the connector, run ALTER TABLE `{path}` SET OPTIONS (max_staleness = "  # noqa: S608 - the text advises a person, and is not run
        f"NULL) and CREATE TABLE `{path}_rows` AS SELECT * FROM `{path}`, and name that table in topic2TableMap. "
        "Deletes that BigQuery remembers are not copied: an older record that comes late brings its row back.",
    )


def _was_merged(config: BigQuerySinkConfig, target: str) -> ConfigError:
    return ConfigError(
        f"Table {config.table_path(target)} was merged by this sink, and dedup.mode=cdc cannot go on with it: BigQuery "
        "knows neither the orders of its rows nor its deletes, so an older record would take a row's place.",
        key="dedup.mode",
        fix="Set dedup.mode=merge again, or name a new table in topic2TableMap and reset the connector's offsets, so "
        "that its topics are read from the beginning.",
    )
