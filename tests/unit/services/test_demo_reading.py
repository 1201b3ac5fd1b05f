"""The demo tells how far it has read a target, which takes minutes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Integer

from connect.tools.demo.dataset import FLIGHTS
from connect.tools.demo.targets import Target


class Rows(Target):
    """A target of 25,000 flights that notes how many were fetched when something was told."""

    name = title = client = "rows"

    def __init__(self) -> None:
        self.fetched = 0

    def start(self, stack: ExitStack) -> Mapping[str, str]:
        del stack
        return {}

    def count(self) -> int:
        return 25_000

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        values = {Integer: 1, DateTime: datetime(2013, 1, 1, tzinfo=UTC)}
        row = tuple(values.get(type(column.type), "text") for column in FLIGHTS.columns)
        for _ in range(self.count()):
            self.fetched += 1
            yield row


def test_reading_is_told_page_by_page():
    rows, told = Rows(), list[tuple[int, int]]()
    frame = rows.read(lambda count: told.append((count, rows.fetched)))
    assert told == [(10_000, 10_000), (20_000, 20_000)]
    assert len(frame) == 25_000
