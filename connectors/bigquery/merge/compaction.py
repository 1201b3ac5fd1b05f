"""Merge the log of a table into it, and take what is merged out of the log. Runs on threads beside the task's.

Every statement stands in the table's line of merges and may run again, by whomever: the guard of the MERGE lets it
change nothing more, and a batch leaves the log only behind a MERGE of the same process that had it.
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
from connectors.bigquery.dedup.rules import CLEARS
from connectors.bigquery.dedup.side_tables import LOG_BATCH, LOG_BOUND, log_table
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.merge.merger import Merger
from connectors.bigquery.merge.staging import StagedFacts
from connectors.bigquery.spending.ledger import Kind
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_COMPACTED_LABEL: Final = "kafka-connect-compacted-ms"
"""The label of a log that says when all it had was merged last."""
_CLAIM_LABEL: Final = "kafka-connect-compacting-ms"
"""The label of a log that says when a compaction was begun last, by any task."""
_CLAIMED_MOST_MS: Final = 600_000
"""Who began a compaction and has not ended it for so long may be dead. Another one costs money, and harms nothing."""


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """When a log is merged: when it is so old, or has so many rows in percent of the table's."""

    interval_ms: int
    percent: int

    def is_due(self, log: TableFacts, table_rows: int, now_ms: int) -> bool:
        """Tell if it pays to merge a log now, and nobody has begun to."""
        if not log.rows:
            return False
        claimed_ms = int(log.labels.get(_CLAIM_LABEL, 0))
        compacted_ms = int(log.labels.get(_COMPACTED_LABEL, log.created_ms))
        is_claimed = claimed_ms > compacted_ms and now_ms - claimed_ms < min(_CLAIMED_MOST_MS, self.interval_ms)
        is_old = now_ms - compacted_ms >= self.interval_ms
        return not is_claimed and (is_old or log.rows * 100 >= table_rows * self.percent)


class Compaction:
    """Compacts logs. Several threads use it, one table a thread."""

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
        """Merge the log of a table if it pays; tell if it did. facts: of any batch of the table."""
        self._line.require_budget(facts.target)
        log, table = self._warehouse.table(log_table(facts.target)), self._warehouse.table(facts.target)
        if log is None or table is None or not rules.is_due(log, table.rows, self._now_ms()):
            return False
        if not self._claim(log, table.rows, rules):
            return False
        self.run(facts)
        return True

    def run(self, facts: StagedFacts) -> bool:
        """Merge what the log of a table has; nothing where there is no log. facts: of any batch of the table.

        Return False where more may have come into the log since an earlier call listed it.
        RetriableError: nobody knows how far it came; the view shows the same rows, and the next one begins anew.
        """
        target = facts.target
        self._line.expect(target, facts.keys_hash)
        name = log_table(target)
        log = self._warehouse.table(name)
        if log is None:
            return True
        parts = LogParts(self._warehouse.path(name))
        if target in self._merged:  # its DELETE is not known to have run, and needs no second MERGE
            self._forget(target, parts)
        clears = any(column.name == CLEARS for column in log.columns)
        # A merge that waited for the budget needs no second look.
        earlier = self._listed.get(target)
        ranged = ranged_keys(log.columns, facts.keys)
        began_ms, found = earlier or self._list(target, parts.batches(clears=clears, ranged=ranged))
        if found:
            self._listed[target] = began_ms, found
            try:
                self._merge(facts, log, parts, found)
            except RefusedJobError as error:
                raise RetriableError(
                    f"The log of table {target} cannot be merged, and stays; its view goes on showing the rows. "
                    f"{error.message}"
                ) from error
        self._warehouse.relabel(name, lambda now: {**now, _COMPACTED_LABEL: str(began_ms)})
        return earlier is None

    def _list(self, target: str, listing: str) -> tuple[int, Sequence[Mapping[str, Any]]]:
        """Return the batches of a log, and when it was asked."""
        self._line.begin(target, [listing])
        began_ms, doing = self._now_ms(), f"listing the batches of table {log_table(target)}"
        return began_ms, self._line.read(target, listing, doing, Kind.COMPACTION)

    def _claim(self, log: TableFacts, table_rows: int, rules: CompactionRules) -> bool:
        """Note that a compaction begins; False where another one has begun meanwhile."""

        def claimed(now: Mapping[str, str]) -> Mapping[str, str] | None:
            now_ms = self._now_ms()
            is_due = rules.is_due(replace(log, labels=now), table_rows, now_ms)
            return {**now, _CLAIM_LABEL: str(now_ms)} if is_due else None

        return self._warehouse.relabel(log.name, claimed)

    def _merge(self, facts: StagedFacts, log: TableFacts, parts: LogParts, found: Sequence[Mapping[str, Any]]) -> None:
        target = facts.target
        table = self._warehouse.table(target)
        if table is None:
            raise RetriableError(f"Table {target} is gone; it is made again.")
        batches = sorted({str(row["batch"]) for row in found})
        in_log = {column.name for column in log.columns} - {LOG_BATCH, LOG_BOUND}
        known = tuple(column.name for column in table.columns if column.name in in_log)
        has_clears = any(column.name == CLEARS for column in log.columns)
        ranged = ranged_keys(log.columns, facts.keys)
        staged = [
            replace(
                facts, columns=known, order=tuple(name for name in facts.order if name in known), bound=row["bound"],
                rows=int(row["row_count"]), deletes=int(row["deletes"] or 0), appends=int(row["appends"] or 0),
                clears=int(row["clears"] or 0) if has_clears else None, key_bounds=bounds_of(row, ranged),
            )
            for row in found
        ]  # fmt: skip
        self._merger.merge(target, table.columns, [parts.rows_of(batches)], staged, Kind.COMPACTION)
        self._merged[target] = batches
        del self._listed[target]
        self._forget(target, parts)
        _log.info("Compacted the log of table %s: %d batches.", target, len(batches))

    def _forget(self, target: str, parts: LogParts) -> None:
        """Delete batches that this process has merged."""
        batches = self._merged[target]
        doing = f"deleting what is merged from the log of table {target}"
        self._line.run(target, parts.forget(batches), doing, Kind.COMPACTION)
        del self._merged[target]
