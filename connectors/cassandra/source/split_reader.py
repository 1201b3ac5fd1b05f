"""Reads one split page by page from a given place. The next page is asked for while one is looked at."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.errors import TombstonesError
from connectors.cassandra.cql.owners import OwnedPart
from connectors.cassandra.cql.page_size import PageSize
from connectors.cassandra.cql.pages import Page
from connectors.cassandra.cql.splits import Split, SplitProgress, stored_key
from connectors.cassandra.cql.statements import Query, keys_of_token, partition_query, range_query, rest_of_partition

log = logging.getLogger(__name__)
_LOOK_S: Final = 0.05
"""A wait for a page looks at least this often if the task is to stop."""


class Answer(Protocol):
    """Is the pending answer to a request for a page."""

    def when_done(self, ring: Callable[[], None]) -> None:
        """Set the function to call, on any thread, once the page has come or failed."""

    def page(self) -> Page:
        """Return the page. RetriableError: it did not come. TableGoneError: the table does not exist any more."""


class Server(Protocol):
    """Is the part of the connection that a split reader uses."""

    def ask(self, query: Query, rows: int, state: bytes | None) -> Answer:
        """Ask for a page of at most `rows` rows; `state` is `next` of the page before, or None."""

    def keys(self, query: Query) -> Sequence[tuple[bytes, ...]]:
        """Return the partition keys that a query selects."""

    def owned_parts(self, keyspace: str, after: int, upto: int) -> Sequence[OwnedPart]:
        """Cut a range of tokens into parts by the nodes that own them."""


class SplitReader:
    """Reads one split. Owned by the task thread; threads of the driver only call `ring`."""

    def __init__(
        self,
        server: Server,
        split: Split,
        progress: SplitProgress,
        size: PageSize,
        *,
        more: str = "",
        ring: Callable[[], None] = lambda: None,
    ) -> None:
        """Read on from `progress`. `more` is CQL that is selected behind the table's columns.

        `ring` is called, on any thread, when a page has come or failed.
        """
        self.split = split
        self._more = more
        self._ring = ring
        self._server = server
        self._progress = progress
        self._size = size
        self._queries: deque[Query] | None = None
        self._state: bytes | None = None
        self._answer: Answer | None = None
        self._arrived = threading.Event()
        self._asked_rows = 0
        self._waiting_since_s: float | None = None

    def next(self, deadline: Deadline) -> Page | None:
        """Return the next page; None if it has not come by the deadline.

        RetriableError: call again; the same page is asked for anew, with half of its rows.
        """
        if self._queries is None:
            self._queries = deque(self._plan())
        if self._answer is None:
            self._ask()
        while True:
            answer = self._arrival(deadline)
            if answer is None:
                return None
            self._answer = None
            try:
                page = answer.page()
                break
            except TombstonesError as error:
                self._ask_for_less(error)
            except RetriableError:
                self._size.failed(self._asked_rows)
                raise
        self._waiting_since_s = None
        self._size.came(page.rows, len(page.data))
        self._state = page.next
        if page.next is None:
            self._queries.popleft()
        if self._queries:
            try:
                self._ask()
            except ConnectError as error:
                # The page at hand is fine. The next call asks again, and raises if it fails again.
                log.warning("The next page could not be asked for yet: %s", error)
        return page

    @property
    def finished(self) -> bool:
        """Return True if all pages have been returned."""
        return self._queries is not None and not self._queries

    @property
    def waits(self) -> bool:
        """Return True if a page is asked for that has neither come nor failed."""
        return self._answer is not None and not self._arrived.is_set()

    @property
    def late_s(self) -> float:
        """Return for how many seconds the next page has been waited for, over all tries; 0 when it is here."""
        since_s, is_here = self._waiting_since_s, self._answer is not None and not self.waits
        return 0.0 if since_s is None or is_here else time.monotonic() - since_s

    def _arrival(self, deadline: Deadline) -> Answer | None:
        """Return the answer once it has come or failed; None if it has not by the deadline."""
        while not self._arrived.is_set():
            if deadline.expired:
                return None
            self._arrived.wait(min(_LOOK_S, deadline.remaining_s))
        return self._answer

    def _ask_for_less(self, error: TombstonesError) -> None:
        """Ask for fewer rows, as nodes count the deleted rows of a page. ConnectError: it was one row already."""
        if self._asked_rows == 1:
            split = self.split
            raise ConnectError(
                f"In tokens {split.after} to {split.upto} of table {split.table.title} more rows were deleted, one "
                f"beside the other, than the nodes read over: {error}",
                fix="Compact the table once gc_grace_seconds are over, or raise tombstone_failure_threshold.",
            ) from error
        self._size.failed(self._asked_rows)
        self._ask()

    def _ask(self) -> None:
        assert self._queries
        if self._waiting_since_s is None:
            self._waiting_since_s = time.monotonic()
        # Each request has an event of its own: when two nodes were asked for a page, the second may answer much later.
        arrived = self._arrived = threading.Event()

        def came() -> None:
            arrived.set()
            self._ring()

        self._asked_rows = self._size.rows
        self._answer = self._server.ask(self._queries[0], self._asked_rows, self._state)
        self._answer.when_done(came)

    def _plan(self) -> list[Query]:
        table, progress = self.split.table, self._progress
        queries = rest_of_partition(table, progress, self._more)
        if progress.partition_key is not None:
            last = stored_key(table, progress.partition_key)
            found = self._server.keys(keys_of_token(table, progress.token))
            behind = sorted((stored_key(table, key), key) for key in found)
            queries += [partition_query(table, key, self._more) for stored, key in behind if stored > last]
        after = progress.token
        for part in self._server.owned_parts(table.keyspace, after, self.split.upto):
            query = range_query(replace(self.split, upto=part.upto), after, self._more)
            queries.append(replace(query, owners=part.owners))
            after = part.upto
        return queries
