"""Run a step on a batch so that bad rows leave it alone: reject what the step names, else bisect down to the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, Self, TypeVar

from connect.api.errors import RejectedRowsError, RetriableError
from connect.lib.javatext.timed_pattern import PatternTimeoutError


class DivisibleRows(Protocol):
    """What can be cut: a Batch or a RawBatch."""

    def __len__(self) -> int: ...
    def slice(self, start: int, stop: int) -> Self: ...
    def take(self, indices: list[int]) -> Self: ...


B = TypeVar("B", bound=DivisibleRows)
R = TypeVar("R")


def isolate(batch: B, step: Callable[[B], R], reject: Callable[[B, Mapping[int, Exception]], None]) -> list[R]:
    """Return the step's results over the good rows, in order.

    `reject` gets a batch and its bad rows; its error ends the work. RetriableError and PatternTimeoutError are not
    about rows and pass through. A step that names no rows runs O(bad x log n) times.
    """
    try:
        return [step(batch)]
    except (RetriableError, PatternTimeoutError):
        raise
    except RejectedRowsError as error:
        reject(batch, error.rows)
        rest = [i for i in range(len(batch)) if i not in error.rows]
        return isolate(batch.take(rest), step, reject) if rest else []
    except Exception as error:  # noqa: BLE001 - any error of a plug-in may be about one row; reject() decides
        if len(batch) <= 1:
            reject(batch, {0: error})
            return []
    middle = len(batch) // 2
    return isolate(batch.slice(0, middle), step, reject) + isolate(batch.slice(middle, len(batch)), step, reject)
