"""Reads one split page by page behind a place, the next page on its way while one is looked at."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connectors.cassandra.page_size import PageSize
from connectors.cassandra.pages import Page
from connectors.cassandra.splits import Progress, Split, stored_key
from connectors.cassandra.statements import Query, keys_of_token, partition_query, range_query, rest_of_partition

log = logging.getLogger(__name__)
_LOOK_S: Final = 0.05
"""How soon a stop is seen while a page is waited for."""


class Answer(Protocol):
    """A page that was asked for."""

    def when_done(self, ring: Callable[[], None]) -> None:
        """Call this from any thread once it has come, or failed."""

    def page(self) -> Page:
        """The page. RetriableError: it did not come. TableGoneError: the table is not there any more."""


class Server(Protocol):
    """The cluster, as far as a split needs it."""

    def ask(self, query: Query, rows: int, state: bytes | None) -> Answer:
        """Ask for a page of so many rows; `state` is the page before's `next`."""

    def keys(self, query: Query) -> Sequence[tuple[bytes, ...]]:
        """Partition keys."""


class SplitReader:
    """Owned by the task thread; the driver's thread only rings the bell."""

    def __init__(self, server: Server, split: Split, progress: Progress, size: PageSize, *, more: str = "") -> None:
        """`more`: what is selected behind the table's columns."""
        self.split = split
        self._more = more
        self._server = server
        self._progress = progress
        self._size = size
        self._queries: deque[Query] | None = None
        self._state: bytes | None = None
        self._answer: Answer | None = None
        self._arrived = threading.Event()

    def next(self, deadline: Deadline) -> Page | None:
        """The next page; None: not by the deadline.

        RetriableError: call again; the same page is asked for anew, with half of its rows.
        """
        if self._queries is None:
            self._queries = deque(self._plan())
        if self._answer is None:
            self._ask()
        assert self._answer is not None
        while not self._arrived.is_set():
            if deadline.expired:
                return None
            self._arrived.wait(min(_LOOK_S, deadline.remaining_s))
        answer, self._answer = self._answer, None
        try:
            page = answer.page()
        except RetriableError:
            self._size.failed()
            raise
        self._size.came(page.rows, len(page.data))
        self._state = page.next
        if page.next is None:
            self._queries.popleft()
        if self._queries:
            try:
                self._ask()
            except ConnectError as error:
                # This page counts. The next call asks again, and tells its caller of what is wrong then.
                log.warning("The next page could not be asked for yet: %s", error)
        return page

    @property
    def finished(self) -> bool:
        """All pages were given."""
        return self._queries is not None and not self._queries

    def _ask(self) -> None:
        assert self._queries
        # A bell of its own: the second of two nodes that were asked for a page may ring when it is long there.
        self._arrived = threading.Event()
        self._answer = self._server.ask(self._queries[0], self._size.rows, self._state)
        self._answer.when_done(self._arrived.set)

    def _plan(self) -> list[Query]:
        table, progress = self.split.table, self._progress
        queries = rest_of_partition(table, progress, self._more)
        if progress.partition_key is not None:
            last = stored_key(table, progress.partition_key)
            found = self._server.keys(keys_of_token(table, progress.token))
            behind = sorted((stored_key(table, key), key) for key in found)
            queries += [partition_query(table, key, self._more) for stored, key in behind if stored > last]
        return [*queries, range_query(self.split, progress.token, self._more)]
