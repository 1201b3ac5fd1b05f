"""Does the same to several tables at a time, so that a table that fails does not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from connectors.bigquery.spending.budget_sentences import BudgetSpentError

T = TypeVar("T")


def for_each_table(act: Callable[[T], None], tables: Collection[T], at_once: int, threads_name: str) -> None:
    """Call `act` for each table, on at most `at_once` threads. Raise the worst error at the end, if there is one."""
    if not tables:
        return
    with ThreadPoolExecutor(min(len(tables), at_once), threads_name) as threads:
        outcomes = [threads.submit(act, table) for table in tables]
    raise_worst([failure for outcome in outcomes if (failure := outcome.exception()) is not None])


def raise_worst(failures: Collection[BaseException]) -> None:
    """Raise the first failure, if there is one. Raise a BudgetSpentError only if no other error is among them."""
    for failure in sorted(failures, key=lambda one: isinstance(one, BudgetSpentError)):
        raise failure
