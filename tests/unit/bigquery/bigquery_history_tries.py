"""Bounds how often a history tries a call, by what the service lets through and not by luck."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from plain_bigquery import PlainBigQuery

PATIENCE: Final = 100
"""So many tries are made with the faults of now. Then all requests pass, and as many tries have to do: the forty
requests that a batch may need in one try hardly ever pass together while each may fail."""


@contextmanager
def tries(service: PlainBigQuery, note: Callable[..., Any]) -> Iterator[Iterator[None]]:
    """Give an iterator over the tries of a call. The faults are as they were when it has ended."""
    faults = service.faults

    def each() -> Iterator[None]:
        for number in range(2 * PATIENCE):
            if number == PATIENCE and faults:
                note("let through", faults=faults)
                service.faults = 0.0
            yield

    try:
        yield each()
    finally:
        service.faults = faults
