"""What the formats of data files share: a file has places, is cut at places, and gives pages from a place on.

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
    """A part of a file: it has the rows that begin at `start` and before `stop`. rows, size_bytes: estimates."""

    start: int
    stop: int
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no row."""

    text: bytes
    error: Exception


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, the place behind them, and the lines among them that are none, by the byte at which each begins."""

    rows: Column
    next_place: int
    bad: Mapping[int, BadLine] = field(default_factory=dict)


class DataFormat(Protocol):
    """How files of one format are read. Owned by one thread."""

    def pieces(self, store: DataStore, file: DataFile, rows: int, size_bytes: int) -> Sequence[Piece]:
        """Return a file in pieces of about so many rows and bytes, which together are all of it; one at least."""

    def pages(self, store: DataStore, path: str, start: int, stop: int) -> Iterator[Page]:
        """Yield the rows that begin at a place in start..stop-1, in order.

        Errors as of the store; ConnectError: the file is no such file.
        """

    def count(self, store: DataStore, path: str, start: int, stop: int) -> int:
        """Return how many rows begin in start..stop-1."""


def cut(start: int, stop: int, parts: int) -> Iterator[tuple[int, int]]:
    """Yield places of about the same width."""
    places = [start + (stop - start) * part // parts for part in range(parts + 1)]
    yield from pairwise(places)
