"""Decides if a table whose rows were told apart by some fields may get records that are told apart by other fields.

Labels of the table say by which fields its rows were told apart, and which field each column holds that dedup added.
They hold hashes, as a label cannot hold all names of fields. The hash of the keys begins with `new-` until a process
that merges by them has seen the label. Before that no row can have been merged, and other keys may replace them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from connect.api.errors import ConfigError
from connectors.bigquery.dedup.rules import DedupColumns, PathColumn
from connectors.bigquery.dedup.side_tables import KEYS_LABEL, log_table
from connectors.bigquery.rows.paths import COORDINATES, Root
from connectors.bigquery.rows.table_schema import has_name
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

NEW: Final = "new-"
"""The label of the keys begins with this while no row has been merged by them."""


def key_labels(config: BigQuerySinkConfig, dedup: DedupColumns) -> Mapping[str, str]:
    """Return the labels for a table whose rows will have these keys and orders, before any row is merged."""
    found = {_label_of(placed): _hash(str(placed.path)) for placed in _added(dedup)}
    if config.mode.merges_rows and dedup.keys:
        found[KEYS_LABEL] = f"{NEW}{keys_hash(dedup)}"
    return found


def keys_hash(dedup: DedupColumns) -> str:
    """Return a hash of the columns and fields that tell rows apart; an empty text if there are none."""
    return _hash(*sorted(f"{key.column}={key.path}" for key in dedup.keys)) if dedup.keys else ""


def require_keys(warehouse: Warehouse, table: TableFacts, keys: str) -> None:
    """Note on a table that rows are merged by these keys from now on. Raise ConfigError if others have replaced them.

    `keys` is the hash of the keys. It is empty if they are not known, as of rows that an earlier version staged.
    """
    known = table.labels.get(KEYS_LABEL, keys)
    if not keys or known == keys:
        return

    def merged(now: Mapping[str, str]) -> Mapping[str, str] | None:
        return {**now, KEYS_LABEL: keys} if now.get(KEYS_LABEL) in {keys, f"{NEW}{keys}"} else None

    if known != f"{NEW}{keys}" or not warehouse.relabel(table.name, merged):
        raise ConfigError(
            f"The rows of table {table.name} are told apart by other fields since this process made it ready. Its rows "
            "are not merged, and their offsets are not committed.",
            key="dedup.fields",
            fix="Stop this process, where another one writes the table by now; else give all connectors of the table "
            "the same dedup.fields, and restart the task.",
        )


def check_keys(config: BigQuerySinkConfig, warehouse: Warehouse, table: TableFacts, dedup: DedupColumns) -> None:
    """Raise ConfigError if the keys of the records would not find their rows in the table, or would find other rows."""
    wanted = key_labels(config, dedup)
    differs = [label for label, value in wanted.items() if _differs(label, table.labels.get(label, value), value)]
    # Columns that dedup adds are made for keys alone; others may be new to rows that were not told apart by them yet.
    needed = dedup.keys if table.labels.get(KEYS_LABEL) == keys_hash(dedup) else tuple(_added(dedup))
    lacking = [
        key for key in needed if key in dedup.keys and not has_name(table.columns, key.column) and config.mode.is_keyed
    ]
    if not (differs or lacking) or not has_rows(warehouse, table):
        return
    if KEYS_LABEL in differs:
        raise told_apart_otherwise(config, table.name)
    for placed in _added(dedup):
        if _label_of(placed) in differs:
            is_key = placed in dedup.keys
            key, named = (
                ("dedup.fields", _named(config)) if is_key else ("dedup.order.by", ",".join(config.dedup_order))
            )
            raise _of_other_field(config, table.name, placed, key, named)
    if lacking:
        raise _without_keys(config, table.name, lacking)


def _added(dedup: DedupColumns) -> Iterator[PathColumn]:
    """Yield the keys and orders whose columns dedup adds, without those of a record's place in Kafka."""
    return (placed for placed in dedup.own if placed.path.root not in COORDINATES)


def _label_of(placed: PathColumn) -> str:
    return f"kafka-connect{placed.column.replace('_', '-')}"


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:24]


def _differs(label: str, known: str, wanted: str) -> bool:
    if label != KEYS_LABEL:
        return known != wanted
    return not known.startswith(NEW) and known != wanted.removeprefix(NEW)


def has_rows(warehouse: Warehouse, table: TableFacts) -> bool:
    """Return True if a table, or its log, has rows."""
    if table.rows:
        return True
    log = warehouse.table(log_table(table.name))
    return log is not None and log.rows > 0


def told_apart_otherwise(config: BigQuerySinkConfig, target: str) -> ConfigError:
    """Return the error for a table whose rows were told apart by other fields than those of the configuration."""
    return ConfigError(
        f"The rows of table {config.table_path(target)} were told apart by other fields than "
        f"dedup.fields={_named(config)}: records would become doubles of them, or take the place of others.",
        key="dedup.fields",
        fix="Name the fields that were named before, or another table in topic2TableMap, and reset the connector's "
        "offsets. Where the table's rows are as the fields of now would have them, take the label off: "
        f"bq update --clear_label {KEYS_LABEL} {config.project}:{config.dataset}.{target}",
    )


def _of_other_field(config: BigQuerySinkConfig, target: str, placed: PathColumn, key: str, named: str) -> ConfigError:
    path = config.table_path(target)
    return ConfigError(
        f"Column {placed.column} of table {path} has the values of another field than {key}={named} says, and these "
        "would be compared with those of a field that means something else.",
        key=key,
        fix="Name the fields that were named before, or a new table in topic2TableMap, and reset the connector's "
        f"offsets. Where the column's values are those of {placed.path}, take the label off: "
        f"bq update --clear_label {_label_of(placed)} {config.project}:{config.dataset}.{target}",
    )


def _without_keys(config: BigQuerySinkConfig, target: str, lacking: Sequence[PathColumn]) -> ConfigError:
    path, column = config.table_path(target), lacking[0].column
    named = str(lacking[0].path)
    source = named if lacking[0].path.root is Root.VALUE and named != column else "..."
    return ConfigError(
        f"Table {path} has rows and no column {column}, in which rows have {lacking[0].path} of dedup.fields: no "
        "record would find its row, and each would become a double of it.",
        key="dedup.fields",
        fix=f"Add the column with the key's type, and fill it: ALTER TABLE `{path}` ADD COLUMN "  # noqa: S608 - the text advises a person, and is not run
        f"{column} TYPE; UPDATE `{path}` SET {column} = {source} WHERE TRUE. Where somebody has renamed it, name it so "
        f"again: ALTER TABLE `{path}` RENAME COLUMN NAME TO {column}. Or name columns of the table in dedup.fields, or "
        "a new table in topic2TableMap.",
    )


def _named(config: BigQuerySinkConfig) -> str:
    return ",".join(map(str, config.dedup.fields))
