"""Asks a server once for all who ask the same at the same time. No answer is older than its caller's call.

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
    """Asks one question at a time, for all callers who came before it was put. Any thread may call it."""

    def __init__(self, ask: Callable[[Deadline], T]) -> None:
        self._ask = ask
        self._asking = threading.Lock()
        self._counting = threading.Lock()
        self._calls = 0
        self._answered: tuple[int, T] | None = None
        """Holds the last answer, and the number of the last call that came before its question."""

    def get(self, deadline: Deadline) -> T:
        """Return the answer to a question that was put after this call began.

        Raise RetriableError if another caller's question takes longer than the deadline. An error of a question is
        raised only to the caller that put it; the next one asks anew.
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
