"""Runs every call of a task on the one thread that owns it, and fails when a call does not come back."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
THREAD_PREFIX = "connect-testing-"
CALL_LIMIT_S = 20.0
"""A call without a deadline may take so many seconds: enough to connect to a service that has just started."""


class OverdueError(AssertionError):
    """Says that a call did not come back in time."""


@dataclass(slots=True)
class _Call:
    run: Callable[[], Any]
    done: threading.Event
    result: Any = None
    error: BaseException | None = None


class TaskThread:
    """Keeps the thread that owns a task. A call that hangs leaves it behind as a daemon; the test fails and goes on."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"{THREAD_PREFIX}{name}", daemon=True)
        self._thread.start()

    def call(self, what: str, run: Callable[[], T], *, limit_s: float = CALL_LIMIT_S, fix: str = "") -> T:
        """Return the call's result, or raise its exception.

        OverdueError names `what` when it takes longer than `limit_s`.
        """
        call = _Call(run, threading.Event())
        self._calls.put(call)
        if not call.done.wait(limit_s):
            raise OverdueError(f"{what} did not return within {limit_s:g} s. {fix}".rstrip())
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def end(self) -> None:
        """Let the thread end once it is idle. Calling it twice is harmless."""
        self._calls.put(None)
        self._thread.join(timeout=1.0)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call.result = call.run()
            except BaseException as error:  # noqa: BLE001 - it is raised again where the call was made
                call.error = error
            call.done.set()
            del call  # else this frame keeps the task alive after it was dropped
