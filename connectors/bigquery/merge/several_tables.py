"""Do the same to several tables at a time, so that one that fails holds up no other one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from connectors.bigquery.spending.waits import BudgetSpentError

T = TypeVar("T")


def for_each_table(act: Callable[[T], None], tables: Collection[T], at_once: int, threads_name: str) -> None:
    """Call `act` for each table, on at most so many threads; what one raised is raised in the end."""
    if not tables:
        return
    with ThreadPoolExecutor(min(len(tables), at_once), threads_name) as threads:
        outcomes = [threads.submit(act, table) for table in tables]
    raise_worst([failure for outcome in outcomes if (failure := outcome.exception()) is not None])


def raise_worst(failures: Collection[BaseException]) -> None:
    """Raise the first failure, if there is one; that a table waits for the budget only where nothing else failed."""
    for failure in sorted(failures, key=lambda one: isinstance(one, BudgetSpentError)):
        raise failure
