"""Shares one question to a server among all who ask it at the same time. No answer is older than its caller's call.

Hundreds of tasks that start together all ask where the offsets topic ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline

_MOST_S: Final = 3600.0
T = TypeVar("T")


class SharedAnswer(Generic[T]):
    """Asks for one caller at a time, and for those who came before the question was put. Any thread may call it."""

    def __init__(self, ask: Callable[[Deadline], T]) -> None:
        self._ask = ask
        self._asking = threading.Lock()
        self._counting = threading.Lock()
        self._calls = 0
        self._answered: tuple[int, T] | None = None
        """Holds the number of the last call before the question that was answered last, and the answer."""

    def get(self, deadline: Deadline) -> T:
        """Return an answer to a question that was put after this call began. RetriableError: others ask for too long.

        What the question raises is for the caller that put it alone: the next one asks anew.
        """
        with self._counting:
            self._calls += 1
            number = self._calls
        if not self._asking.acquire(timeout=min(_MOST_S, max(0.0, deadline.remaining_s))):
            raise RetriableError("The question before was not answered in time.")
        try:
            if self._answered is not None and self._answered[0] >= number:
                return self._answered[1]
            with self._counting:
                before = self._calls
            answer = self._ask(deadline)
            self._answered = before, answer
            return answer
        finally:
            self._asking.release()
