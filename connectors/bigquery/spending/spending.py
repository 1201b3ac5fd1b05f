"""Declares what decides which statements may run, and how many bytes their jobs may be billed for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from connectors.bigquery.spending.ledger import Kind
from connectors.bigquery.warehouse.job_facts import UNMETERED, Metering


class Spending(Protocol):
    """Counts the statements of tables, and limits what they are billed for. Several threads use it."""

    def require(self, target: str) -> None:
        """Raise BudgetSpentError if a table is known to wait for the budget. Send no request."""

    def begin(self, target: str, statements: Sequence[str]) -> None:
        """Raise BudgetSpentError if the bytes left in the budget are too few for all of these statements."""

    def metering(self, target: str, sql: str, kind: Kind) -> Metering:
        """Return the object that limits and counts the jobs of a statement."""


class _Unbounded:
    """Allows each statement whatever it needs, and counts nothing."""

    def require(self, target: str) -> None:
        del target

    def begin(self, target: str, statements: Sequence[str]) -> None:
        del target, statements

    def metering(self, target: str, sql: str, kind: Kind) -> Metering:
        del target, sql, kind
        return UNMETERED


UNBOUNDED: Final = _Unbounded()
