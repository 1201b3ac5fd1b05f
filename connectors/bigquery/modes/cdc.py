"""Implements dedup.mode=cdc: BigQuery applies records itself, by the table's primary key, which has to be the dedup
fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connectors.bigquery.dedup.rules import DedupColumns, Deletes, Keep, NullKey
from connectors.bigquery.dedup.window import parse_window
from connectors.bigquery.modes.keyed import KeyedMode
from connectors.bigquery.modes.mode import TableWriter, WriterFactory
from connectors.bigquery.rows.table_schema import Columns, ColumnType, by_name

_ORDERED: Final = frozenset({ColumnType.INTEGER, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.DATETIME})
"""The types of the order field that can be made into a sequence number."""
_INSTEAD: Final = "Change it, or set dedup.mode=merge."


class CdcMode(KeyedMode):
    """Sends records as changes. BigQuery itself keeps the latest change of each key."""

    name = "cdc"
    doc = "BigQuery applies them by the table's primary key."
    is_idempotent = True
    owns_table = True
    has_own_way = True
    has_window = False
    reads_logs_in_order = False
    unordered_tombstone = (
        "Where its key has no such field either, nothing tells BigQuery which changes it comes after, so it is a bad "
        "record and deletes nothing. Mark deletes by a field (dedup.delete=FIELD=VALUE), set dedup.delete=ignore, or "
        "dedup.mode=merge, where it removes what its topic partition brought before it."
    )

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return a writer that sends batches of changes."""
        return writers.capturing()

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield the settings that BigQuery's change data capture does not support, beside those of every mode."""
        yield from super().problems()
        config = self._config
        if config.dedup_keep == Keep.FIRST:
            yield ConfigProblem("dedup.keep", f"With dedup.mode=cdc the latest record stays. {_INSTEAD}")
        if config.dedup_delete == Deletes.SOFT:
            yield ConfigProblem("dedup.delete", f"dedup.mode=cdc replaces rows, so it takes no soft delete. {_INSTEAD}")
        if config.dedup_null_key == NullKey.APPEND:
            yield ConfigProblem("dedup.null.key", f"With dedup.mode=cdc every row has a primary key. {_INSTEAD}")
        if config.primary_key and set(config.primary_key) != set(config.dedup_fields):
            yield ConfigProblem("table.primary.key", "With dedup.mode=cdc it is the dedup.fields: leave it out.")
        if len(config.dedup_order) > 1:
            yield ConfigProblem(
                "dedup.order.by", f"dedup.mode=cdc orders by one field, then partition and offset. {_INSTEAD}"
            )

    @property
    def uses_storage_api(self) -> bool:
        """Return True, as only the Storage Write API takes changes."""
        return True

    @property
    def rows_may_lack_values(self) -> bool:
        """Return True, as a delete is sent as a row that has only its key."""
        return True

    @property
    def max_staleness_s(self) -> int | None:
        """Return how many seconds old the answers of queries on a new table may be; None: they see every change."""
        staleness_ms = parse_window(self._config.max_staleness)
        return None if staleness_ms is None else staleness_ms // 1000

    def primary_key(self, dedup: DedupColumns) -> list[str]:
        """Return the columns of the dedup fields."""
        return [placed.column for placed in dedup.keys]

    def check_new_table(self, path: str, columns: Columns, dedup: DedupColumns) -> None:
        """Raise ConfigError if the keys cannot be a primary key, or the order cannot be a sequence number."""
        nested = [placed.column for placed in dedup.keys if "." in placed.column]
        if nested:
            raise ConfigError(
                f"Table {path} cannot have the primary key {', '.join(nested)}: members of a record are none.",
                key="dedup.fields",
                fix="Leave kafkaKeyFieldName out, name fields of the value, or set dedup.mode=merge.",
            )
        order = by_name(columns).get(dedup.order[0].column.lower())  # None while only tombstones have come
        if order is not None and order.type not in _ORDERED:
            raise ConfigError(
                f"Table {path}: column {order.name}, which dedup.order.by names, is a {order.type}, and dedup.mode=cdc "
                "orders by whole numbers and times.",
                key="dedup.order.by",
                fix="Name such a field, or set dedup.mode=merge.",
            )

    def check_table(self, path: str, primary_key: Sequence[str], dedup: DedupColumns) -> None:
        """Raise ConfigError where the table has another primary key than the dedup fields."""
        wanted = self.primary_key(dedup)
        if {name.lower() for name in primary_key} != {name.lower() for name in wanted}:
            has = f"the primary key {', '.join(primary_key)}" if primary_key else "no primary key"
            raise ConfigError(
                f"Table {path} has {has}, and dedup.mode=cdc needs {', '.join(wanted)}, the dedup.fields.",
                key="dedup.fields",
                fix=f"ALTER TABLE `{path}` ADD PRIMARY KEY ({', '.join(wanted)}) NOT ENFORCED, or set "
                "dedup.mode=merge.",
            )
