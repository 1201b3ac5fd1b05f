"""Counts the bytes that a connector's jobs are billed for, and keeps its merges within a budget, for all tasks.

The ledger is the description of an empty table. It is changed only if its ETag is still the same, which costs nothing,
and all tasks and later runs share it. With a budget, bytes are reserved there before a job is submitted. Without one,
the billed bytes are written there each minute.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.rows.sizes import bytes_told
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.settings.config_budget import BUDGET_BYTES_KEY
from connectors.bigquery.spending.budget_keys import budget_key_of, budget_of, prices_of_config
from connectors.bigquery.spending.budget_sentences import BudgetSpentError, budget_spent
from connectors.bigquery.spending.dead_reservations import settled_jobs
from connectors.bigquery.spending.estimates import Estimates
from connectors.bigquery.spending.ledger import Job, Kind, Ledger, Need, Wait
from connectors.bigquery.spending.ledger_day import LedgerDay
from connectors.bigquery.warehouse.job_facts import Ended, Metering
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_SAVE_EVERY_S: Final = 60.0
_NEVER_S: Final = 3600.0
"""A statement that needs more than a day's budget is tried again after so many seconds, as its table may shrink."""
_ALERT_PERCENT: Final = 80
_TIB: Final = 2**40
_COLUMNS: Final = (ColumnSchema("nothing", ColumnType.INTEGER),)


def spending_table(connector_label: str) -> str:
    """Return the name of the empty table that has the ledger of a connector."""
    return f"_kafka_connect_spending_{connector_label}"


class ConnectorSpending:
    """Keeps the ledger of a connector, as one of its tasks. Several threads use it."""

    def __init__(
        self,
        warehouse: Warehouse,
        table: str,
        budget_bytes: int | None,
        now_s: Callable[[], float] = time.time,
        usd_per_tib: float | None = None,
        *,
        budget_key: str = BUDGET_BYTES_KEY,
    ) -> None:
        """Take the limits. If `budget_bytes` is None, jobs are only counted. `usd_per_tib` is the price of a TiB that
        is read; None: slots are paid instead. `budget_key` is the setting of the budget, which messages name. `now_s`
        is the worker's clock, which counts until an answer of BigQuery tells the time.
        """
        self._warehouse = warehouse
        self._table = table
        self._budget_bytes = budget_bytes
        self._budget_key = budget_key
        self._days = LedgerDay(warehouse, now_s, table)
        self._now_s = self._days.now_s
        self._usd_per_tib = usd_per_tib
        self._owner = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._ledger = Ledger()
        self._is_made = False
        self._ended: list[Job] = []
        self._counted_loads = 0
        self._saved_at_s = self._now_s()
        self._estimates = Estimates(warehouse)
        self._waits: dict[str, tuple[float, BudgetSpentError]] = {}
        self._alerted_on = ""

    def require(self, target: str) -> None:
        """Raise BudgetSpentError if a table is known to wait for the budget. Send no request."""
        until_s, error = self._waits.get(target, (0.0, None))
        if error is not None and self._now_s() < until_s:
            raise error

    def begin(self, target: str, statements: Sequence[str]) -> None:
        """Raise BudgetSpentError if the bytes left in the budget are too few for all of these statements."""
        if self._budget_bytes is None:
            return
        self.require(target)
        needs = {sql: self._estimates.anew(target, sql) for sql in statements}
        total = sum(needs.values())
        with self._lock:
            self._write(lambda ledger: ledger)
            found = self._ledger.wait(total, self._budget_bytes, self._days.share)
            self._estimates.keep(target, needs)
            if found is not None and self._settle():
                found = self._ledger.wait(total, self._budget_bytes, self._days.share)
            self._heed(target, found, total, self._budget_bytes)

    def metering(self, target: str, sql: str, kind: Kind) -> Metering:
        """Return the object that limits and counts the jobs of a statement."""
        return _StatementMetering(self, target, sql, kind)

    def reserve(self, target: str, sql: str, kind: Kind, job_id: str) -> int | None:
        """Reserve the bytes that a job may be billed for, and return them; None if there is no budget."""
        budget_bytes = self._budget_bytes
        if budget_bytes is None:
            return None
        need_bytes = self._estimates.of(target, sql)
        need = Need(need_bytes, self._owner, kind)
        refused: list[Wait] = []

        def reserved(ledger: Ledger) -> Ledger:
            found = ledger.with_reserved(job_id, need, budget_bytes, self._days.share)
            refused[:] = [found] if isinstance(found, Wait) else []
            return ledger if isinstance(found, Wait) else found

        with self._lock:
            self._write(reserved)
            if refused and job_id in self._ledger.reserved:
                # The job of this reservation may have ended long ago, and its process died before it saw that.
                billed_bytes = self._warehouse.jobs.billed_bytes(job_id)
                if billed_bytes is not None:
                    self._ended.append(Job(job_id, kind, billed_bytes, was_reserved=True))
                    self._write(reserved)
            if refused and self._settle():
                self._write(reserved)
            self._heed(target, refused[0] if refused else None, need_bytes, budget_bytes)
        return need_bytes

    def note(self, target: str, sql: str, kind: Kind, job: Ended) -> None:
        """Count a job that has ended."""
        has_budget = self._budget_bytes is not None
        with self._lock:
            reserved = self._ledger.reserved.get(job.job_id)
            self._estimates.note(target, sql, job, 0 if reserved is None else reserved.bytes)
            if has_budget or job.is_own:
                found_by = "" if job.is_own else self._owner
                self._ended.append(Job(job.job_id, kind, job.billed_bytes, has_budget, found_by))
            if has_budget or self.is_due:
                self._save()

    @property
    def is_due(self) -> bool:
        """Return True if it is time to save what was counted."""
        return abs(self._now_s() - self._saved_at_s) >= _SAVE_EVERY_S  # the clock may have been wrong before

    def save(self) -> None:
        """Write what was counted and is not written yet."""
        with self._lock:
            self._save()

    def figures(self) -> Mapping[str, float]:
        """Return the metrics of the connector, as far as this task knows them."""
        found: dict[str, float] = {}
        ledger = self._ledger.at(self._days.today)
        for span, period in (("day", ledger.day), ("month", ledger.month)):
            for kind in Kind:
                found[f"{kind}_billed_{span}_bytes"] = period.billed_bytes.get(kind, 0)
                found[f"{kind}_jobs_{span}"] = period.jobs.get(kind, 0)
            if self._usd_per_tib is not None:
                found[f"billed_{span}_usd"] = sum(period.billed_bytes.values()) / _TIB * self._usd_per_tib
        if self._budget_bytes is not None:
            now_s = self._now_s()
            waits_s = [until_s - now_s for until_s, _ in list(self._waits.values())]
            found |= {"budget_bytes": self._budget_bytes, "budget_used_percent": self._used_percent}
            found["budget_wait_s"] = max(0.0, max(waits_s, default=0.0))
        return found

    def spent(self) -> BudgetSpentError | None:
        """Return why a table waits; None if none waits. A wait that only a person can end comes first."""
        now_s = self._now_s()
        waits = [error for until_s, error in list(self._waits.values()) if now_s < until_s]
        return min(waits, key=lambda error: error.waiting_for is not None, default=None)

    def notice(self) -> str | None:
        """Return in one line that the budget is nearly used up; None where it is not."""
        if self._budget_bytes is None or self._used_percent < _ALERT_PERCENT:
            return None
        return (
            f"{self._used_percent:.0f} % of the {bytes_told(self._budget_bytes)} that merges may be billed for today "
            f"({self._budget_key}) are used: further ones will wait."
        )

    def told(self) -> Sequence[str]:
        """Return sentences for the notes: that the budget is nearly used up, and which clocks are wrong."""
        return [told for told in (self.notice(), *self._days.told()) if told]

    @property
    def _used_percent(self) -> float:
        used_bytes = self._ledger.at(self._days.today).used_bytes
        return 100 * used_bytes / self._budget_bytes if self._budget_bytes else 0.0

    def _settle(self) -> bool:
        """Count ended jobs of processes that may be dead. Return True if this freed bytes reserved for them."""
        found = list(settled_jobs(self._ledger, self._warehouse.jobs, self._owner))
        if found:
            self._ended += found
            self._write(lambda ledger: ledger)
        return bool(found)

    def _heed(self, target: str, wait: Wait | None, need_bytes: int, budget_bytes: int) -> None:
        """Note that a table waits, and raise the reason; or note that it waits no longer if `wait` is None."""
        used = self._used_percent
        if used >= _ALERT_PERCENT and self._alerted_on != self._ledger.day.name:
            self._alerted_on = self._ledger.day.name
            _log.warning("%.0f %% of the day's budget of %d bytes (%s) are used.", used, budget_bytes, self._budget_key)
        if wait is None:
            self._waits.pop(target, None)
            return
        if wait.seconds is None:
            self._estimates.forget(target)
        now_s = self._now_s()
        error = budget_spent(target, wait, need_bytes, budget_bytes, now_s, key=self._budget_key)
        self._waits[target] = now_s + (_NEVER_S if wait.seconds is None else wait.seconds), error
        _log.info("%s", error.message)
        raise error

    def _save(self) -> None:
        self._saved_at_s = self._now_s()
        if not self._ended and self._warehouse.loads == self._counted_loads:
            return
        try:
            self._write(lambda ledger: ledger)
        except RetriableError as error:
            # The bytes stay reserved, and the counts stay here, until the next attempt.
            _log.debug("What was billed is not written yet: %s", error)
        except ConnectError as error:
            # A merge that has no budget goes on without it; one that has asks for bytes there, and fails.
            _log.warning("What jobs were billed for cannot be written: %s", error)

    def _parsed(self, text: str) -> Ledger:
        """Return the ledger that the table's description holds. Raise ConnectError if it holds something else."""
        try:
            return Ledger.parse(text)
        except ValueError as error:
            raise ConnectError(
                f"The description of table {self._table} is where the connector's spending is kept, and holds no "
                f"ledger: {error}",
                fix="Drop the table; what was spent on this day counts no more then.",
            ) from error

    def _write(self, change: Callable[[Ledger], Ledger]) -> None:
        """Count the ended jobs in the stored ledger, apply `change` to it, and write the result.

        Raise RetriableError if somebody else changed it meanwhile, or if it is not known whether it was written.
        """
        ended, loads = list(self._ended), self._warehouse.loads

        def rewritten(text: str) -> str:
            ledger = self._days.on_today(self._parsed(text))
            for job in ended:
                ledger = ledger.with_job(job)
            if loads > self._counted_loads:
                ledger = ledger.with_jobs(Kind.LOAD, 0, loads - self._counted_loads)
            self._ledger = change(ledger)
            return self._ledger.text()

        if not self._is_made:
            self._warehouse.create(NewTable(self._table, _COLUMNS))
        self._is_made = False  # somebody may have dropped it where this fails
        self._warehouse.describe(self._table, rewritten)
        self._is_made = True
        self._ended = self._ended[len(ended) :]
        self._counted_loads = loads


def spending_of(
    config: BigQuerySinkConfig, warehouse: Warehouse, connector_label: str, now_s: Callable[[], float]
) -> ConnectorSpending:
    """Return the object that limits and counts the jobs of a connector, by its budget and prices."""
    prices = prices_of_config(config)
    return ConnectorSpending(
        warehouse, spending_table(connector_label), budget_of(config, prices), now_s,
        None if prices.slots else prices.query_tib, budget_key=budget_key_of(config, prices),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _StatementMetering:
    """Counts the jobs of one statement, and limits what they are billed for."""

    spending: ConnectorSpending
    target: str
    sql: str
    kind: Kind

    def limit_bytes(self, job_id: str) -> int | None:
        return self.spending.reserve(self.target, self.sql, self.kind, job_id)

    def ended(self, job: Ended) -> None:
        self.spending.note(self.target, self.sql, self.kind, job)
