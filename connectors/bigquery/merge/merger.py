"""Merges staged rows into a table by statements that run one after the other in the line of the table.

The guard of the MERGE allows that any process runs them again: then they change nothing more.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConnectError
from connectors.bigquery.cost.prices import Prices
from connectors.bigquery.dedup.key_bounds import united
from connectors.bigquery.dedup.merge_sql import Bound, Merge
from connectors.bigquery.dedup.rules import KAFKA_ROW, Deletes, Keep
from connectors.bigquery.dedup.side_tables import cleared_table, deletes_table
from connectors.bigquery.dedup.view_sql import has_memory, remembered_order
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.merge.staging import StagedFacts
from connectors.bigquery.rows.table_schema import Columns, float_names
from connectors.bigquery.spending.ledger import Kind
from connectors.bigquery.warehouse.job_facts import Changed
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_DAY_S: Final = 86_400
_USD_PER_TIB: Final = Prices().query_tib
"""The log names this price beside the costs, as prices differ by region and contract."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Holds the settings of merges.

    `interval_s` is the time between two merges of a table. `window_column` is the column that dedup.window bounds;
    None: the whole table is searched. With `in_any_order` an earlier record may be merged after a later one, as happens
    with chunks of a backfill. `Merge` explains `deletes_appended`.
    """

    keep: Keep
    deletes: Deletes
    remembers_deletes: bool
    remembers_clears: bool
    window_column: str | None
    interval_s: float
    in_any_order: bool = False
    deletes_appended: bool = False


class Merger:
    """Merges staged rows. Several threads use it, each for another table."""

    def __init__(
        self,
        warehouse: Warehouse,
        line: MergeLine,
        rules: MergeRules,
        report: Callable[[Mapping[str, int]], None],
    ) -> None:
        """Take the settings, and open nothing. `report` is called with the figures of each merge, on any thread."""
        self._warehouse = warehouse
        self._line = line
        self._rules = rules
        self._report = report
        self._estimated: set[str] = set()

    def merge(
        self,
        target: str,
        columns: Columns,
        sources: Sequence[str],
        staged: Sequence[StagedFacts],
        kind: Kind = Kind.MERGE,
    ) -> None:
        """Merge rows into a table that has these columns.

        `sources` has the SQL of the tables or queries with the rows to merge. `staged` has the facts of these rows, all
        with the same keys, order and columns. The jobs are counted as jobs of this `kind`.
        """
        started_s = time.monotonic()
        facts, rules = staged[0], self._rules
        remembered = self._remembered_order(target, facts)
        self._line.expect(target, facts.keys_hash)
        merge = Merge(
            target=self._warehouse.path(target),
            staged=tuple(sources),
            columns=tuple(column.name for column in columns),
            keys=facts.keys,
            order=facts.order,
            present=frozenset(facts.columns),
            keep=rules.keep,
            deletes=rules.deletes,
            tombstones=None if remembered is None else self._warehouse.path(deletes_table(target)),
            remembered_order=remembered,
            bound=self._bound(staged),
            key_bounds=united([one.key_bounds for one in staged]),
            takes_earlier=rules.in_any_order,
            has_clears=facts.clears is not None,
            cleared=self._cleared(target, facts.keys),
            deletes_appended=rules.deletes_appended,
            floats=float_names(columns),
        )
        now = "CURRENT_TIMESTAMP()"
        clearing = merge.clear(now, remembers=rules.remembers_clears) if any(one.clears for one in staged) else ()
        remembers = rules.remembers_deletes and any(one.deletes > (one.clears or 0) for one in staged)
        remembering = [merge.remember_deletes(now)] if remembers else []
        appending = [merge.append()] if any(one.appends for one in staged) else []
        self._line.begin(target, [*clearing, *remembering, merge.text(), *appending])
        taken_out = Changed()  # the rows that the last statement changed, which is the one on the table
        # Whichever statement comes first looks at the table, and so at the columns that others have added.
        for statement in clearing:
            taken_out = self._line.run(target, statement, f"clearing keys of table {target}", kind, columns=columns)
        for statement in remembering:
            self._line.run(target, statement, f"remembering deletes of {target}", kind, columns=columns)
        if not rules.in_any_order:
            self._estimate(target, merge.text())
        changed = self._line.run(target, merge.text(), f"merging into table {target}", kind, columns=columns)
        for statement in appending:
            appended = self._line.run(target, statement, f"adding rows of their own to table {target}", kind)
            changed = replace(changed, inserted=changed.inserted + appended.inserted)
        changed = replace(
            changed, updated=changed.updated + taken_out.updated, deleted=changed.deleted + taken_out.deleted
        )
        self._tell(target, sum(one.rows for one in staged), changed, time.monotonic() - started_s)

    def _remembered_order(self, target: str, facts: StagedFacts) -> tuple[str, ...] | None:
        """Return the order by which remembered deletes are compared; None where no memory of a table is asked. Deletes
        that other settings or another connector remembered count, too.
        """
        is_own, name = self._rules.remembers_deletes, deletes_table(target)
        if is_own and KAFKA_ROW not in facts.order:
            return facts.order
        columns = self._others_memory(name)
        found = None if columns is None else remembered_order(columns, facts.keys, facts.order)
        return facts.order if found is None and is_own else found

    def _cleared(self, target: str, keys: Sequence[str]) -> str | None:
        """Return the table (quoted) that remembers tombstones without an order; None where none is asked."""
        name = cleared_table(target)
        if not self._rules.remembers_clears:
            columns = self._others_memory(name)
            if columns is None or not has_memory(columns, keys):
                return None
        return self._warehouse.path(name)

    def _others_memory(self, name: str) -> Columns | None:
        """Return the columns of a table in which others remembered deletes; None where there is none to ask."""
        table = None if self._rules.keep is Keep.FIRST else self._warehouse.table(name)
        return None if table is None else table.columns

    def _estimate(self, target: str, sql: str) -> None:
        """Log once in the life of this object what a merge of this table will cost."""
        if target in self._estimated:
            return
        self._estimated.add(target)
        try:
            size = self._warehouse.scanned_bytes(sql)
        except ConnectError as error:
            _log.debug("What merges into table %s will cost is not known: %s", target, error)
            return
        interval_s = max(1.0, self._rules.interval_s)
        a_day = int(size * _DAY_S / interval_s)
        _log.info(
            "A merge into table %s reads %d bytes; one every %.0f s reads %.1f GiB a day (about %.2f USD on demand, at "
            "%.2f USD a TiB).",
            target, size, interval_s, a_day / 2**30, a_day / 2**40 * _USD_PER_TIB, _USD_PER_TIB,
        )  # fmt: skip

    def _bound(self, staged: Sequence[StagedFacts]) -> Bound | None:
        """Return the earliest bound of the staged rows; None: the whole table is searched.

        All bounds have one form of text, so that they sort as their times do.
        """
        bounds = [one.bound for one in staged]
        if self._rules.window_column is None or any(bound is None for bound in bounds):
            return None
        return Bound(self._rules.window_column, min(bound for bound in bounds if bound is not None))

    def _tell(self, target: str, rows: int, changed: Changed, took_s: float) -> None:
        dropped = rows - changed.inserted - changed.updated - changed.deleted
        _log.info(
            "Merged into table %s in %.1f s: %d rows staged, %d inserted, %d updated, %d deleted, %d dropped as "
            "duplicate or older; %d bytes billed.",
            target, took_s, rows, changed.inserted, changed.updated, changed.deleted, dropped, changed.billed_bytes,
        )  # fmt: skip
        self._report(
            Counter(
                merges_total=1, merged_rows_staged_total=rows, merged_rows_inserted_total=changed.inserted,
                merged_rows_updated_total=changed.updated, merged_rows_deleted_total=changed.deleted,
                merged_rows_dropped_total=dropped, merged_bytes_billed_total=changed.billed_bytes,
            )
        )  # fmt: skip
