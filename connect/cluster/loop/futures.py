"""Makes futures end as other futures do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def follow(answer: Future[_Given], done: Future[_Made], make: Callable[[_Given], _Made]) -> None:
    """End `done` when `answer` ends: with what `make` makes of the result, or with the error of `answer` or `make`."""

    def finish(finished: Future[_Given]) -> None:
        error = finished.exception()
        if error is not None:
            done.set_exception(error)
            return
        try:
            made = make(finished.result())
        except Exception as refused:  # noqa: BLE001 - whoever waits hears of it, whatever it is
            done.set_exception(refused)
        else:
            done.set_result(made)

    answer.add_done_callback(finish)


def mapped(answer: Future[_Given], make: Callable[[_Given], _Made]) -> Future[_Made]:
    """Return a future that ends when `answer` does, with what `make` makes of the result."""
    done: Future[_Made] = Future()
    follow(answer, done, make)
    return done
