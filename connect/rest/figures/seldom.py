"""Remembers for a few seconds what takes long to ask for, since pages are drawn every two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, TypeVar

from connect.api.errors import ConnectError
from connect.cluster.model.request_errors import RequestError
from connect.rest.server.waiting import WaitTimeoutError, apart, within

T = TypeVar("T")
FIRST_WAIT_S: Final = 1.0
FRESH_S: Final = 15.0


class Seldom(Generic[T]):
    """Asks on a thread, and goes on with the last answer meanwhile. Owned by the event loop."""

    def __init__(self, ask: Callable[[], T]) -> None:
        """Take a function that may block; ConnectError and RequestError of it mean that nothing is known."""
        self._ask = ask
        self._asking: Future[T] | None = None
        self._known: T | None = None
        self._due_s = 0.0

    async def value(self) -> T | None:
        """Return the last answer; the first is waited for. None: there was none in time."""
        if self._asking is None:
            if time.monotonic() < self._due_s:
                return self._known
            self._asking = apart(self._ask)
        try:
            self._known = await within(self._asking, FIRST_WAIT_S if self._known is None else 0.0)
        except WaitTimeoutError:
            return self._known
        except (ConnectError, RequestError):
            self._known = None
        self._asking = None
        self._due_s = time.monotonic() + FRESH_S
        return self._known
