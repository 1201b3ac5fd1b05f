"""Holds what all calls to one dataset share: the client, the location, the time limit and the translation of errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connectors.bigquery.warehouse.errors import translated

T = TypeVar("T")
R = TypeVar("R")
_LEAST_S: Final = 0.05
_AGAIN_S: Final = 0.5


class DatasetCalls:
    """Calls to one dataset. Used by several threads. `location` is where the dataset's jobs run, once that is known."""

    def __init__(self, client: Any, project: str, dataset: str, timeout_s: float, location: str | None = None) -> None:
        self.client = client
        self.project = project
        self.dataset = dataset
        self.location = location
        self._timeout_s = timeout_s
        self._of_thread = threading.local()
        self.stopped = threading.Event()

    @property
    def path(self) -> str:
        """Return the name of the dataset as `project.dataset`."""
        return f"{self.project}.{self.dataset}"

    def table_id(self, table: str) -> str:
        """Return the name of a table as `project.dataset.table`."""
        return f"{self.path}.{table}"

    @contextmanager
    def within(self, deadline: Deadline) -> Iterator[None]:
        """Bound the requests of this thread in the body by a deadline: one that takes longer raises RetriableError."""
        self._of_thread.deadline = deadline
        try:
            yield
        finally:
            self._of_thread.deadline = None

    def side_by_side(self, ask: Callable[[T], R], things: Sequence[T], at_once: int) -> list[R]:
        """Return what `ask` returns for each thing, on at most `at_once` threads and by this thread's deadline."""
        deadline: Deadline | None = getattr(self._of_thread, "deadline", None)

        def answer(thing: T) -> R:
            self._of_thread.deadline = deadline
            return ask(thing)

        with ThreadPoolExecutor(max(1, min(len(things), at_once)), "bigquery-look") as threads:
            return list(threads.map(answer, things))

    @property
    def limit_s(self) -> float:
        """Return the time in seconds that a request of this thread may take."""
        deadline: Deadline | None = getattr(self._of_thread, "deadline", None)
        return self._timeout_s if deadline is None else min(self._timeout_s, max(_LEAST_S, deadline.remaining_s))

    @property
    def again(self) -> Any:
        """Return the retry for requests that may be sent twice; it helps if an idle connection was closed."""
        from google.api_core.retry import Retry, if_exception_type
        from requests.exceptions import ConnectionError as LostError

        return Retry(predicate=if_exception_type(LostError), initial=0.05, maximum=0.5, timeout=_AGAIN_S)

    def translated(self, doing: str) -> AbstractContextManager[None]:
        """Translate the client's errors in the body into those of `connect.api.errors`; `doing` says what is done.

        Raise RetriableError at once if the task was stopped, unless a deadline of `within` bounds the thread. So a
        thread that looks at many tables asks for no further one.
        """
        if self.stopped.is_set() and getattr(self._of_thread, "deadline", None) is None:
            raise RetriableError(f"BigQuery dataset {self.path}, {doing}: the task was stopped.")
        return translated(doing, project=self.project, dataset=self.dataset)
