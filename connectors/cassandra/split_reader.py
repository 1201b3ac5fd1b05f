"""Reads one split page by page, the next page on its way while one is looked at."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final, Protocol

from connect.api.deadline import Deadline
from connectors.cassandra.pages import Page
from connectors.cassandra.splits import Progress, Split

_LOOK_S: Final = 0.05
"""How soon a stop is seen while a page is waited for."""


class Asked(Protocol):
    """An answer that comes page by page, as the driver's ResponseFuture gives it."""

    has_more_pages: bool

    def add_callbacks(self, callback: Any, errback: Any) -> None:
        """Have one of these called for every page."""

    def start_fetching_next_page(self) -> None:
        """Ask for the next page."""


class Pages(Protocol):
    """The server, as far as a split needs it."""

    def ask(self, split: Split, after: int, fetch_size: int) -> Asked:
        """Begin to read the rows of a split above a token."""

    def page(self, asked: Asked) -> Page:
        """The page that has come. RetriableError, TableGoneError."""


@dataclass(frozen=True, slots=True)
class Given:
    """Rows of a split; `is_last`: there are no more."""

    page: Page
    is_last: bool


class SplitReader:
    """Owned by the task thread; the driver's thread only rings the bell."""

    def __init__(self, pages: Pages, split: Split, progress: Progress, fetch_size: int) -> None:
        self.split = split
        self._pages = pages
        self._progress = progress
        self._fetch_size = fetch_size
        self._asked: Asked | None = None
        self._arrived = threading.Event()

    def next(self, deadline: Deadline) -> Given | None:
        """The next page; None: not by the deadline. Ask again after an error: it goes on behind the last whole
        partition.
        """
        if self._asked is None:
            self._arrived.clear()
            asked = self._pages.ask(self.split, self._progress.token, self._fetch_size)
            asked.add_callbacks(self._ring, self._ring)
            self._asked = asked
        while not self._arrived.is_set():
            if deadline.expired:
                return None
            self._arrived.wait(min(_LOOK_S, deadline.remaining_s))
        try:
            page = self._pages.page(self._asked)
        except BaseException:
            self._asked = None
            raise
        is_last = not self._asked.has_more_pages
        self._arrived.clear()
        if not is_last:
            self._asked.start_fetching_next_page()
        return Given(page, is_last)

    def reached(self, progress: Progress) -> None:
        """All partitions up to here were given out."""
        self._progress = progress

    @property
    def progress(self) -> Progress:
        """What was reached."""
        return self._progress

    def _ring(self, _answer: object) -> None:
        self._arrived.set()
