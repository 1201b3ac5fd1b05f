"""Runs a step on a batch, and finds the rows that make it fail.

Rows that the step's error names are rejected at once. Where it names none, the batch is halved until the bad row is
alone; the other rows go through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, Self, TypeVar

from connect.api.errors import RejectedRowsError, RetriableError
from connect.lib.javatext.timed_pattern import PatternTimeoutError


class DivisibleRows(Protocol):
    """Stands for rows that can be cut into parts: a Batch or a RawBatch."""

    def __len__(self) -> int: ...
    def slice(self, start: int, stop: int) -> Self: ...
    def take(self, indices: list[int]) -> Self: ...


B = TypeVar("B", bound=DivisibleRows)
R = TypeVar("R")


def isolate(batch: B, step: Callable[[B], R], reject: Callable[[B, Mapping[int, Exception]], None]) -> list[R]:
    """Return the step's results over the good rows, in order.

    `reject` gets a batch and its bad rows, each with its error; what `reject` raises ends the search. RetriableError
    and PatternTimeoutError say nothing about rows, so they are raised as they are. A step whose errors name no rows
    runs O(bad x log n) times.
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
