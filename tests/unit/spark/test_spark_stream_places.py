"""A stream of a source that has no place to go on from behind each of its batches gives each row once all the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import StructType

from connect.api.errors import ConnectError
from connect.api.plugin import PluginKind
from connect.api.records import Batch, Column, SourcePosition
from connect.spark import stream_reader
from connect.spark.options import FrameOptions
from connect.spark.source_task import OpenTask
from connect.spark.stream_reader import ConnectStreamReader

ROWS = 70
COLUMNS = StructType().add("id", "long")
BATCH = ReadMaxRows(20)


@pytest.fixture
def keyless(tmp_path: Path) -> FrameOptions:
    """A view, so that no key tells its rows apart, which is read in pages of ten rows."""
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER NOT NULL)")
        database.executemany("INSERT INTO orders VALUES (?)", [(i,) for i in range(ROWS)])
        database.execute("CREATE VIEW bought AS SELECT id FROM orders")
    given = {
        "connector.class": "JdbcSource", "connection.url": f"jdbc:sqlite:{tmp_path}/shop.db", "topic.prefix": "",
        "mode": "bulk", "table.whitelist": "bought", "table.types": "VIEW", "batch.max.rows": "10",
        "connect.batch.rows": "20", "poll.interval.ms": "600000",
    }  # fmt: skip
    return FrameOptions.of(given, PluginKind.SOURCE)


def ids(reader: ConnectStreamReader, start: dict, end: dict) -> list[int]:
    parts = reader.partitions(start, end)
    return [row for part in parts for batch in reader.read(part) for row in batch.column(0).to_pylist()]


def all_ids(reader: ConnectStreamReader, most: ReadMaxRows = BATCH) -> list[list[int]]:
    """The rows of each micro-batch until there are none, as Spark asks for them: an equal end is no batch."""
    given, at = [], reader.initialOffset()
    while (end := reader.latestOffset(at, most)) != at:
        given.append(ids(reader, at, end))
        at = end
    return given


def test_a_bulk_read_without_a_key_leaves_no_micro_batch_out_and_gives_one_again_as_it_was(keyless: FrameOptions):
    reader = ConnectStreamReader(keyless, COLUMNS)
    assert sorted(i for batch in all_ids(reader) for i in batch) == list(range(ROWS))
    first, reader = reader, ConnectStreamReader(keyless, COLUMNS)
    first.stop()
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, BATCH)
    once = ids(reader, begin, end)
    reader.stop()
    again = ConnectStreamReader(keyless, COLUMNS)
    assert ids(again, begin, end) == once
    again.stop()


class Polls:
    """A source task whose polls are given, each a unit of batches; then it has nothing."""

    def __init__(self, units: Sequence[Sequence[tuple[int, dict | None]]]) -> None:
        self._units = list(units)

    def open(self, ctx: object) -> None:
        pass

    def poll(self, deadline: object) -> list[Batch] | None:
        if not self._units:
            return None
        return [
            Batch("t", Column.from_rows([{"id": i}], None), position=SourcePosition({}, offset))
            for i, offset in self._units.pop(0)
        ]

    def stored(self, positions: object) -> None:
        pass

    def close(self) -> None:
        pass


class Source:
    """A connector of such a task."""

    def __init__(self, units: Sequence[Sequence[tuple[int, dict | None]]]) -> None:
        self._units = units

    def task(self, config: object) -> Polls:
        return Polls(self._units)


def reader_of(monkeypatch: pytest.MonkeyPatch, units: Sequence[Sequence[tuple[int, dict | None]]]):
    monkeypatch.setattr(stream_reader, "_POLL_S", 0.0)
    reader = ConnectStreamReader(FrameOptions({}, 1, 2, 0.05, ()), COLUMNS)

    def opened(at: dict) -> OpenTask:
        reader._task, reader._at = OpenTask(Source(units), {}, at["positions"], 0.05), at
        return reader._task

    monkeypatch.setattr(reader, "_open", opened)
    return reader


def test_a_micro_batch_goes_on_until_its_rows_have_a_new_place(monkeypatch: pytest.MonkeyPatch):
    units = [[(i, None if i % 4 < 2 else {"at": i // 3})] for i in range(7)]
    assert all_ids(reader_of(monkeypatch, units), ReadMaxRows(2)) == [[0, 1, 2], [3, 4, 5, 6]]


def test_a_micro_batch_ends_behind_a_whole_unit_alone(monkeypatch: pytest.MonkeyPatch):
    units = [[(0, {"at": 1}), (1, {"at": 2}), (2, {"at": 3})], [(3, {"at": 4})]]
    assert all_ids(reader_of(monkeypatch, units), ReadMaxRows(2)) == [[0, 1, 2], [3]]


def test_rows_that_never_get_a_place_are_refused_as_nothing_could_give_them_again(monkeypatch: pytest.MonkeyPatch):
    reader = reader_of(monkeypatch, [[(0, {"at": 1})], [(1, None)], [(2, {"at": 1})]])
    start = reader.latestOffset(reader.initialOffset(), ReadMaxRows(1))
    with pytest.raises(ConnectError, match="2 rows without a place"):
        reader.latestOffset(start, ReadMaxRows(1))
