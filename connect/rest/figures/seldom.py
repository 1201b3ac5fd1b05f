"""Remembers for a few seconds what takes long to ask for, since pages are drawn every two seconds."""

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
"""Answers are this old at most while somebody is told that something is missing."""
OLD_S: Final = 2 * FRESH_S
"""Answers that are older were true once: a new one is waited for, and where none comes in time nothing is known."""


class _Asking(NamedTuple, Generic[T]):
    answer: Future[T]
    since_s: float


class Seldom(Generic[T]):
    """Asks on a thread, and goes on with the last answer meanwhile. Owned by the event loop."""

    def __init__(self, ask: Callable[[], T]) -> None:
        """Take a function that may block; ConnectError and RequestError of it mean that nothing is known."""
        self._ask = ask
        self._asking: _Asking[T] | None = None
        self._known: T | None = None
        self._asked_s = -math.inf
        self._fresh_s = FRESH_S

    async def value(self) -> T | None:
        """Return the last answer, which is waited for where there is none of late. None: there was none in time."""
        if self._asking is not None:
            # Nobody may have looked for minutes: what it brings may be old, too.
            await self._take(self._asking)
        now_s = time.monotonic()
        if self._asking is None and now_s - self._asked_s >= self._fresh_s:
            self._asking = _Asking(apart(self._ask), now_s)
            self._fresh_s = FRESH_S
            await self._take(self._asking)
        return self._known if self._age_s <= OLD_S else None

    def hurry(self) -> None:
        """Ask again sooner, as something is missing in the last answer, which may have come since."""
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
