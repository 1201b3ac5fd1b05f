"""Merges the log of a table into the table, and deletes the merged rows from the log. Used by several threads.

Every statement is run in the table's line of merges, and any process may run it again: the guard of the MERGE then
changes nothing more. A process deletes a batch from the log only after its own MERGE of that batch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from connect.api.errors import RetriableError
from connectors.bigquery.dedup.key_bounds import bounds_of, ranged_keys
from connectors.bigquery.dedup.log_sql import LogParts
from connectors.bigquery.dedup.rules import CLEARS, IS_APPEND, IS_DELETE, KAFKA_ROW
from connectors.bigquery.dedup.side_tables import LOG_BATCH, LOG_BOUND, log_table
from connectors.bigquery.merge.merge_line import ColumnsCameError, MergeLine
from connectors.bigquery.merge.merger import Merger
from connectors.bigquery.merge.staging import StagedFacts
from connectors.bigquery.rows.table_schema import Columns, by_name
from connectors.bigquery.spending.ledger import Kind
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_COMPACTED_LABEL: Final = "kafka-connect-compacted-ms"
"""This label of a log says when all of its rows were merged last, in milliseconds since 1970."""
_CLAIM_LABEL: Final = "kafka-connect-compacting-ms"
"""This label of a log says when any task last began a compaction, in milliseconds since 1970."""
_MARKS: Final = frozenset({IS_DELETE, IS_APPEND, CLEARS})
_CLAIMED_MOST_MS: Final = 600_000
"""A task that has not ended its compaction for so long may be dead. A second compaction only costs money."""


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """Says when a log is merged: after `interval_ms`, or when its rows are `percent` percent of the table's rows."""

    interval_ms: int
    percent: int

    def is_due(self, log: TableFacts, table_rows: int, now_ms: int) -> bool:
        """Return True if it pays to merge a log now, and no other task has begun to."""
        if not log.rows:
            return False
        claimed_ms = int(log.labels.get(_CLAIM_LABEL, 0))
        compacted_ms = int(log.labels.get(_COMPACTED_LABEL, log.created_ms))
        is_claimed = claimed_ms > compacted_ms and now_ms - claimed_ms < min(_CLAIMED_MOST_MS, self.interval_ms)
        is_old = now_ms - compacted_ms >= self.interval_ms
        return not is_claimed and (is_old or log.rows * 100 >= table_rows * self.percent)


class Compaction:
    """Compacts logs. Several threads use it, each for another table."""

    def __init__(
        self, warehouse: Warehouse, line: MergeLine, merger: Merger, now_ms: Callable[[], int] | None = None
    ) -> None:
        self._warehouse = warehouse
        self._line = line
        self._merger = merger
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        self._merged: dict[str, Sequence[str]] = {}
        self._listed: dict[str, tuple[int, Sequence[Mapping[str, Any]]]] = {}

    def run_if_due(self, facts: StagedFacts, rules: CompactionRules) -> bool:
        """Merge the log of a table if it pays, and return True if so. `facts` are those of any of its batches."""
        self._line.require_budget(facts.target)
        log, table = self._warehouse.table(log_table(facts.target)), self._warehouse.table(facts.target)
        if log is None or table is None or not rules.is_due(log, table.rows, self._now_ms()):
            return False
        if not self._claim(log, table.rows, rules):
            return False
        self.run(facts)
        return True

    def run(self, facts: StagedFacts) -> bool:
        """Merge all batches that the log of a table has, if there is a log. `facts` are those of any of its batches.

        Return False if batches may have come into the log since an earlier call listed it. Raise RetriableError if
        nobody knows how far the compaction came: then the view shows the same rows, and the next call begins anew.
        """
        target = facts.target
        self._line.expect(target, facts.keys_hash)
        name = log_table(target)
        columns = self._columns_of(name)
        if columns is None:
            return True
        parts = LogParts(self._warehouse.path(name))
        if target in self._merged:  # the batches are merged, but perhaps not deleted from the log
            self._forget(target, parts)
        # The list of an earlier call is used again if its merge did not end, as when it waited for the budget.
        earlier = self._listed.get(target)
        began_ms, found = earlier or self._list(facts, columns, parts)
        if found:
            self._listed[target] = began_ms, found
            try:
                try:
                    self._merge(facts, parts, found)
                except ColumnsCameError:
                    self._merge(facts, parts, found)  # by the columns that are there now
            except RefusedJobError as error:
                raise RetriableError(
                    f"The log of table {target} cannot be merged, and stays; its view goes on showing the rows. "
                    f"{error.message}"
                ) from error
        self._warehouse.relabel(name, lambda now: {**now, _COMPACTED_LABEL: str(began_ms)})
        return earlier is None

    def _list(self, facts: StagedFacts, columns: Columns, parts: LogParts) -> tuple[int, Sequence[Mapping[str, Any]]]:
        """Return the time at which a log was asked for its batches, in milliseconds since 1970, and the batches.

        `columns` were the log's. Where it has got the mark of tombstones without an order until the batches are listed,
        these are listed again, as some may have it.
        """
        target, ranged = facts.target, ranged_keys(columns, facts.keys)
        clears = _has_clears(columns)
        listing = parts.batches(clears=clears, ranged=ranged)
        self._line.begin(target, [listing])
        began_ms, doing = self._now_ms(), f"listing the batches of table {log_table(target)}"
        found = self._line.read(target, listing, doing, Kind.COMPACTION)
        now = columns if clears else self._columns_of(log_table(target))
        return (began_ms, found) if now is None or _has_clears(now) == clears else self._list(facts, now, parts)

    def _columns_of(self, name: str) -> Columns | None:
        """Return the columns that a log has now; None if there is no log."""
        log = self._warehouse.table(name)
        return None if log is None else log.columns

    def _claim(self, log: TableFacts, table_rows: int, rules: CompactionRules) -> bool:
        """Note that a compaction begins. Return False if another task has begun one meanwhile."""

        def claimed(now: Mapping[str, str]) -> Mapping[str, str] | None:
            now_ms = self._now_ms()
            is_due = rules.is_due(replace(log, labels=now), table_rows, now_ms)
            return {**now, _CLAIM_LABEL: str(now_ms)} if is_due else None

        return self._warehouse.relabel(log.name, claimed)

    def _merge(self, facts: StagedFacts, parts: LogParts, found: Sequence[Mapping[str, Any]]) -> None:
        """Merge the batches that were `found`, and delete them from the log."""
        target = facts.target
        # The columns are those of now: a batch may have come with a new one until the batches were listed. The table
        # gets it before the log, so the table is looked at behind the log.
        columns = self._columns_of(log_table(target))
        table = self._warehouse.table(target)
        if columns is None or table is None:
            raise RetriableError(f"Table {target} or its log is gone; it is made again.")
        batches = sorted({str(row["batch"]) for row in found})
        in_log = by_name(columns).keys() - {LOG_BATCH, LOG_BOUND}
        known = {column.name.lower(): column.name for column in table.columns if column.name.lower() in in_log}
        lost = sorted(column.name for column in columns if column.name.lower() in in_log - known.keys() - _MARKS)
        self._require_no_values(target, parts, batches, lost, table.columns)
        has_clears = _has_clears(columns)
        ranged = ranged_keys(columns, facts.keys)
        # Rows of one record are told apart by their numbers, also where this task has seen no such record.
        whole_order = dict.fromkeys((*(facts.whole_order or facts.order), KAFKA_ROW))
        order = tuple(known[name.lower()] for name in whole_order if name.lower() in known)
        staged = [
            replace(
                facts, columns=tuple(known.values()), order=order, whole_order=order, bound=row["bound"],
                rows=int(row["row_count"]), deletes=int(row["deletes"] or 0), appends=int(row["appends"] or 0),
                clears=int(row.get("clears") or 0) if has_clears else None, key_bounds=bounds_of(row, ranged),
            )
            for row in found
        ]  # fmt: skip
        self._merger.merge(target, table.columns, [parts.rows_of(batches)], staged, Kind.COMPACTION)
        self._merged[target] = batches
        del self._listed[target]
        self._forget(target, parts)
        _log.info("Compacted the log of table %s: %d batches.", target, len(batches))

    def _require_no_values(
        self, target: str, parts: LogParts, batches: Sequence[str], lost: Sequence[str], columns: Columns
    ) -> None:
        """Raise RetriableError if batches have values in columns that the table has `lost`: they stay in the log.

        `columns` are those that the table has.
        """
        if not lost:
            return
        counting = parts.valued(batches, lost)
        self._line.begin(target, [counting])
        doing = f"reading table {log_table(target)}"
        (counts,) = self._line.read(target, counting, doing, Kind.COMPACTION, columns=columns)
        found = [name for number, name in enumerate(lost) if counts[f"count_{number}"]]
        if found:
            raise RetriableError(
                f"The log of table {target} is not merged, and stays: {target} has no column {', '.join(found)}, of "
                f"which {log_table(target)} has values. Add it to {target} again, or drop it from {log_table(target)}."
            )

    def _forget(self, target: str, parts: LogParts) -> None:
        """Delete from a log the batches that this process has merged."""
        batches = self._merged[target]
        doing = f"deleting what is merged from the log of table {target}"
        self._line.run(target, parts.forget(batches), doing, Kind.COMPACTION)
        del self._merged[target]


def _has_clears(columns: Columns) -> bool:
    """Return True if a log has the mark of tombstones without an order."""
    return any(column.name == CLEARS for column in columns)
