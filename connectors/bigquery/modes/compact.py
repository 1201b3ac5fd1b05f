"""Implements dedup.mode=compact: batches are appended to a log, a view shows the rows at once, and the log is merged
seldom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.log_sql import LogView
from connectors.bigquery.dedup.merge_sql import Merge
from connectors.bigquery.dedup.rules import DedupColumns, Keep, NullKey
from connectors.bigquery.dedup.side_tables import cleared_table, deletes_table, log_table
from connectors.bigquery.dedup.view_sql import has_memory, remembered_order
from connectors.bigquery.dedup.window import Late
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import SqlNames, TableWriter, WriterFactory
from connectors.bigquery.modes.view_names import taken_names
from connectors.bigquery.rows.table_schema import Columns, by_name, float_names

_INTERVAL_MS: Final = 900_000


class CompactMode(MergeMode):
    """Keeps one row of each key for ever, as `merge` does, by one MERGE for many batches."""

    name = "compact"
    doc = (
        "records are appended to a log by load jobs, which cost nothing; a view beside the table shows the rows, and "
        "the log is merged into the table once in dedup.compact.interval.ms."
    )
    keeps_log = True

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return a writer that appends batches to logs, and compacts the logs."""
        return writers.compacting(
            self.rules, remembers_deletes=self.remembers_deletes, remembers_clears=self.remembers_clears
        )

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield the settings with which a log costs too much or has no exact view, and the problems of every mode."""
        yield from super().problems()
        yield from taken_names(self._config.named_topics, self._config.table_names, self._config.view_suffix)
        if self._config.dedup_keep == Keep.FIRST:
            yield ConfigProblem(
                "dedup.keep",
                "dedup.mode=compact keeps the latest record. Set dedup.mode=merge, which with dedup.keep=first reads "
                "the columns of the keys alone.",
            )
        if Late(self._config.dedup_late) is Late.APPEND:
            yield ConfigProblem(
                "dedup.late",
                "dedup.late=append adds rows whose key another row has, and the view of dedup.mode=compact shows one "
                "row of each key. Set merge, dlq or drop, or dedup.mode=merge.",
            )

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield a note on which table or view to read."""
        for note in super().notes():
            if note.key != "dedup.window":  # a search of the whole table is seldom here
                yield note
        yield ConfigProblem(
            "dedup.mode",
            f"Read the view, whose name is the table's and {self._config.view_suffix}: the table itself lacks what "
            "came since the last compaction.",
        )

    def batch_interval_s(self, topic: str) -> float:
        """Return the time between two load jobs of a table."""
        del topic
        return self._interval_ms / 1000

    @property
    def _interval_ms(self) -> int:
        is_set = {"dedup.merge.interval.ms", "mergeIntervalMs"} & self._config.originals.keys()
        return self._config.interval_ms if is_set else _INTERVAL_MS

    def views_beside(
        self, target: str, names: SqlNames, columns: Columns, dedup: DedupColumns, beside: Mapping[str, Columns]
    ) -> Mapping[str, str]:
        """Return the view of the table and its log, with the columns that the table has now."""
        rules, known = self.rules, by_name(columns)
        keys = tuple(placed.column for placed in dedup.keys)
        # A table that has had nothing but deletes may lack a column that orders values.
        order = tuple(placed.column for placed in dedup.order if placed.column.lower() in known)

        # Others' memories of deletes are asked, too, as by a compaction.
        deletes, cleared = deletes_table(target), cleared_table(target)
        remembered = order if self.remembers_deletes else remembered_order(beside.get(deletes, ()), keys, order)
        asks_cleared = self.remembers_clears or has_memory(beside.get(cleared, ()), keys)
        merge = Merge(
            target=names.path(target),
            staged=(names.path(log_table(target)),),
            columns=tuple(column.name for column in columns),
            keys=keys,
            order=order,
            present=frozenset(column.name for column in columns),
            keep=rules.keep,
            deletes=rules.deletes,
            tombstones=None if remembered is None else names.path(deletes),
            remembered_order=remembered,
            has_clears=rules.clears,
            cleared=names.path(cleared) if asks_cleared else None,
            floats=float_names(columns),
        )
        view = LogView(merge, has_appends=rules.null_key is NullKey.APPEND)
        return {f"{target}{self._config.view_suffix}": view.text()}
