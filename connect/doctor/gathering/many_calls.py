"""Makes many calls that wait for somebody else, some of them at a time, without holding up the end of the process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Final, TypeVar

from connect.lib.deadline import Deadline

A = TypeVar("A")
R = TypeVar("R")
_SIDE_BY_SIDE: Final = 64
"""So many threads wait at a time; one that waits for a connection costs next to nothing."""


def called_for_each(call: Callable[[A], R], arguments: Iterable[A], deadline: Deadline) -> dict[A, Future[R]]:
    """Return a future for each argument. Calls that have not begun by the deadline are cancelled."""
    futures: dict[A, Future[R]] = {argument: Future() for argument in arguments}
    waiting: queue.SimpleQueue[tuple[A, Future[R]]] = queue.SimpleQueue()
    for item in futures.items():
        waiting.put(item)

    def work() -> None:
        while True:
            try:
                argument, future = waiting.get_nowait()
            except queue.Empty:
                return
            if deadline.expired:
                future.cancel()
            elif future.set_running_or_notify_cancel():
                try:
                    future.set_result(call(argument))
                except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
                    future.set_exception(error)

    for _ in range(min(_SIDE_BY_SIDE, len(futures))):
        threading.Thread(target=work, name="doctor-call", daemon=True).start()
    return futures
