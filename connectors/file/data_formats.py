"""Declares what the formats of data files share: a file is cut at places, and read page by page from a place on.

A place is a number that grows with the file: the row of a Parquet file, the byte at which a line of text begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from connect.api.records import Column
from connectors.file.data_store import DataFile, DataStore


@dataclass(frozen=True, slots=True)
class Piece:
    """Holds the range of rows that begin at `start` and before `stop`. `rows` and `size_bytes` are estimates."""

    start: int
    stop: int
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BadLine:
    """Holds a line that cannot be read as a row, and the reason."""

    text: bytes
    error: Exception


@dataclass(frozen=True, slots=True)
class Page:
    """Holds rows, the place behind them, and the bad lines among them by the byte at which each begins."""

    rows: Column
    next_place: int
    bad: Mapping[int, BadLine] = field(default_factory=dict)


class DataFormat(Protocol):
    """Reads files of one format. Owned by one thread."""

    def pieces(self, store: DataStore, file: DataFile, rows: int, size_bytes: int) -> Sequence[Piece]:
        """Cut a whole file into pieces of about so many rows and bytes. Return at least one piece."""

    def pages(self, store: DataStore, path: str, start: int, stop: int) -> Iterator[Page]:
        """Yield the rows that begin at a place in start..stop-1, in order.

        Raise the errors of the store, and ConnectError if the file is not of this format.
        """

    def count(self, store: DataStore, path: str, start: int, stop: int) -> int:
        """Return how many rows begin in start..stop-1."""


def cut(start: int, stop: int, parts: int) -> Iterator[tuple[int, int]]:
    """Cut the range start..stop into `parts` ranges of about the same width, and yield each as (start, stop)."""
    places = [start + (stop - start) * part // parts for part in range(parts + 1)]
    yield from pairwise(places)
