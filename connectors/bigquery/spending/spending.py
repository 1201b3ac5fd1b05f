"""Say which statements may run, and what their jobs may be billed for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from connectors.bigquery.spending.ledger import Kind
from connectors.bigquery.warehouse.job_facts import UNMETERED, Metering


class Spending(Protocol):
    """It bounds and counts the statements of tables. Several threads use it."""

    def require(self, target: str) -> None:
        """Raise BudgetSpentError where a table is known to wait for the budget. Nothing is asked."""

    def begin(self, target: str, statements: Sequence[str]) -> None:
        """Raise BudgetSpentError where the budget does not have now what these statements need together."""

    def metering(self, target: str, sql: str, kind: Kind) -> Metering:
        """Return what limits the jobs of a statement, and counts them."""


class _Unbounded:
    """It bounds nothing, and counts nothing."""

    def require(self, target: str) -> None:
        del target

    def begin(self, target: str, statements: Sequence[str]) -> None:
        del target, statements

    def metering(self, target: str, sql: str, kind: Kind) -> Metering:
        del target, sql, kind
        return UNMETERED


UNBOUNDED: Final = _Unbounded()
