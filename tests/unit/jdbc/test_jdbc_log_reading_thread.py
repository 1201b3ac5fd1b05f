"""Checks that the reading thread of a log delivers every batch that its reader counts as delivered."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, SourcePosition
from connect.api.schema import Schema, Type
from connect.lib.deadline import Deadline
from connectors.jdbc.log.reading_thread import ReadingThread
from connectors.jdbc.log.shared.log_end import LogEnd


class CountingReader:
    """Reads a log of numbers. It goes on behind the last batch that it has given away, as readers of databases do."""

    def __init__(self, batches: int) -> None:
        self.end: LogEnd[int] = LogEnd(lambda: 0, lambda _: 0)
        self.retained_bytes = 0
        self.position = 0
        self.tended = threading.Event()
        self._batches = batches

    def batches(self) -> Iterator[Batch | None]:
        while self.position < self._batches:
            self.position += 1
            yield Batch("numbers", Column.from_rows([self.position], Schema(Type.INT64)))
        while True:
            yield None

    def tend(self) -> None:
        self.tended.set()
        raise RetriableError("the server went away")

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        raise AssertionError(positions)

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


def test_a_server_that_goes_away_while_batches_wait_costs_none_of_them():
    stopping, reader = threading.Event(), CountingReader(12)
    thread = ReadingThread(reader, stopping, tend_s=0.01)
    found: list[int] = []
    errors = 0
    try:
        while len(found) < 12:
            try:
                item = thread.next(Deadline.after(10))
            except RetriableError:
                errors += 1
                continue
            assert isinstance(item, Batch), "no batch came for ten seconds"
            found += item.values.rows()
            if len(found) == 1:
                assert reader.tended.wait(10), "the server is answered while the queue is full"
    finally:
        stopping.set()
        thread.end()
    assert found == [*range(1, 13)]
    assert errors, "the error is told, behind the batches that were read before"


def test_a_reader_that_ends_with_an_error_raises_it_behind_its_batches():
    class Broken(CountingReader):
        def batches(self) -> Iterator[Batch | None]:
            yield Batch("numbers", Column.from_rows([1], Schema(Type.INT64)))
            raise RetriableError("no more")

    stopping = threading.Event()
    thread = ReadingThread(Broken(1), stopping)
    item = thread.next(Deadline.after(10))
    assert isinstance(item, Batch)
    assert [*item.values.rows()] == [1]
    with pytest.raises(RetriableError, match="no more"):
        thread.next(Deadline.after(10))
    stopping.set()
    thread.end()
