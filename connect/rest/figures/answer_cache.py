"""Keeps slow answers for a few seconds, as pages are drawn every two seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, NamedTuple, TypeVar

from connect.api.errors import ConnectError
from connect.cluster.model.request_errors import RequestError
from connect.rest.server.waiting import WaitTimeoutError, apart, within

T = TypeVar("T")
FIRST_WAIT_S: Final = 1.0
FRESH_S: Final = 15.0
HURRY_S: Final = 3.0
"""An answer with something missing is at most this many seconds old."""
OLD_S: Final = 2 * FRESH_S
"""An answer older than this many seconds is not used: a new one is awaited, and without one nothing is known."""


class _Asking(NamedTuple, Generic[T]):
    answer: Future[T]
    since_s: float


class AnswerCache(Generic[T]):
    """Asks on a thread, and gives the last answer meanwhile. It is owned by the event loop."""

    def __init__(self, ask: Callable[[], T]) -> None:
        """Take a function that may block. If it raises ConnectError or RequestError, nothing is known."""
        self._ask = ask
        self._asking: _Asking[T] | None = None
        self._known: T | None = None
        self._asked_s = -math.inf
        self._fresh_s = FRESH_S

    async def value(self) -> T | None:
        """Return the last answer; wait for a new one if the last is too old. None if no answer came in time."""
        if self._asking is not None:
            # Nobody may have asked for minutes, so the answer that is under way may be old, too.
            await self._take(self._asking)
        now_s = time.monotonic()
        if self._asking is None and now_s - self._asked_s >= self._fresh_s:
            self._asking = _Asking(apart(self._ask), now_s)
            self._fresh_s = FRESH_S
            await self._take(self._asking)
        return self._known if self._age_s <= OLD_S else None

    def hurry(self) -> None:
        """Ask again sooner, as something is missing in the last answer that may exist by now."""
        self._fresh_s = HURRY_S

    @property
    def _age_s(self) -> float:
        return math.inf if self._known is None else time.monotonic() - self._asked_s

    async def _take(self, asking: _Asking[T]) -> None:
        try:
            self._known = await within(asking.answer, FIRST_WAIT_S if self._age_s > OLD_S else 0.0)
        except WaitTimeoutError:
            return
        except (ConnectError, RequestError):
            self._known = None
        self._asking, self._asked_s = None, asking.since_s
