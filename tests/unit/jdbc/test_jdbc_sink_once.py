"""Checks exactly.once and chunks of a backfill: what is noted beside the rows keeps each record from being written
twice.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jdbc_sink_rows import TOPIC, SqliteTable, batch, opened, put

from connect.api.errors import ConfigError
from connect.api.optional.bulk import BulkChunk
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.bulk import JdbcBulkWriter
from connectors.jdbc.sink.own_tables import RowPlace, places_from_text, places_to_text, runs_of
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

CHECKED = f"CREATE TABLE {TOPIC} (id INTEGER, name TEXT CHECK (name <> 'refused'))"


@pytest.fixture
def table(tmp_path: Path) -> SqliteTable:
    made = SqliteTable(tmp_path)
    made.run(CHECKED)
    return made


def numbered(first: int, stop: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n}"} for n in range(first, stop)]


def rows_at(offsets: Sequence[int], next_offset: int) -> Batch:
    """A row per offset, of a read that ends before `next_offset`."""
    whole = batch(numbered(0, next_offset)).take(offsets)
    assert whole.consumed is not None
    return whole


def test_records_that_come_again_are_not_written_again(table: SqliteTable):
    config = table.config(exactly__once="true")
    with opened(config) as task:
        put(task, batch(numbered(0, 5)))
        put(task, batch(numbered(5, 9), first=5))
    with opened(config) as task:  # as after a crash before the offsets were committed
        put(task, batch(numbered(3, 12), first=3))
    assert table.rows("id") == [(n,) for n in range(12)]


def test_a_late_owner_of_a_partition_writes_nothing_that_is_there(table: SqliteTable):
    config = table.config(exactly__once="true")
    with opened(config) as late, opened(config) as owner:
        put(late, batch(numbered(0, 3)))
        put(owner, batch(numbered(0, 6)))
        put(late, batch(numbered(3, 8), first=3))
        put(owner, batch(numbered(6, 9), first=6))
    assert table.rows("id") == [(n,) for n in range(9)]


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_batches_of_one_read_whose_offsets_lie_among_each_others_survive_a_crash_between_them(tmp_path_factory, data):
    table = SqliteTable(tmp_path_factory.mktemp("t"))
    table.run(CHECKED)
    config = table.config(exactly__once="true")
    committed, ends = 0, data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    last = sum(ends)
    lives = data.draw(st.integers(1, 3))
    for life in range(lives):
        is_last = life == lives - 1
        at = committed
        with opened(config) as task:
            while at < last:
                end = min(last, at + data.draw(st.integers(1, 6)))
                owner = data.draw(st.lists(st.integers(0, 1), min_size=end - at, max_size=end - at))
                parts = [[at + i for i, which in enumerate(owner) if which == part] for part in (0, 1)]
                put(task, rows_at(parts[0], end)) if parts[0] else None
                if not is_last and data.draw(st.booleans()):
                    break  # killed: nothing of this read is committed
                put(task, rows_at(parts[1], end)) if parts[1] else None
                at = end
                committed = at if data.draw(st.booleans()) else committed
    assert table.rows("id") == [(n,) for n in range(last)]


def test_a_row_that_was_refused_is_given_up_again_until_its_letter_is_committed(table: SqliteTable):
    config = table.config(exactly__once="true")
    given = [{"id": 0, "name": "a"}, {"id": 1, "name": "refused"}, {"id": 2, "name": "c"}]
    with opened(config) as task:
        assert put(task, batch(given)).keys() == {1}
    with opened(config) as task:
        assert put(task, batch(given)).keys() == {1}, "nobody knows whether its letter is in Kafka"
        put(task, batch(numbered(3, 5), first=3))
    with opened(config) as task:  # offset 3 was committed, and so was the letter
        put(task, batch(numbered(3, 5), first=3))
    assert table.rows("id") == [(0,), (2,), (3,), (4,)]
    assert table.run("SELECT refused FROM connect_offsets") == [("{}",)]


def numbered_rows(ids: Sequence[int], offset: int, numbers: Sequence[int]) -> Batch:
    """Rows that a transform made of the record at an offset."""
    made = batch([{"id": n, "name": "refused" if n == 13 else f"n{n}"} for n in ids], first=offset)
    assert made.consumed is not None
    place = replace(
        made.consumed, offsets=pa.array([offset] * len(ids)), row_numbers=pa.array(numbers), next_offset=offset + 1
    )
    return replace(made, consumed=place)


def test_rows_that_a_transform_made_of_one_record_are_each_written_once(table: SqliteTable):
    # They come as several batches where their topics or schemas differ.
    config = table.config(exactly__once="true")
    parts = [numbered_rows([10], 5, [1]), numbered_rows([11, 13], 5, [2, 3]), numbered_rows([12], 5, [4])]
    for read in (parts[:1], parts, parts):  # killed behind the first one, then before the offset was committed
        with opened(config) as task:
            refused = [put(task, one) for one in read]
    assert [list(bad) for bad in refused] == [[], [1], []]
    assert table.rows("id") == [(10,), (11,), (12,)]
    assert [key for (text,) in table.run("SELECT refused FROM connect_offsets") for key in json.loads(text)] == ["5+3"]


@given(st.frozensets(st.builds(RowPlace, st.integers(0, 9), st.integers(0, 3))))
def test_places_are_what_their_text_says(places):
    assert places_from_text(places_to_text(places)) == places
    assert {RowPlace.parse(place.text) for place in places} == places
    assert places_from_text("[[3, 5]]") == {RowPlace(3), RowPlace(4), RowPlace(5)}, "as former versions wrote it"


def test_without_it_records_are_written_again(table: SqliteTable):
    for _ in range(2):
        with opened(table.config()) as task:
            put(task, batch(numbered(0, 2)))
    assert table.rows("id") == [(0,), (0,), (1,), (1,)]


@given(st.frozensets(st.integers(0, 40)))
def test_runs_are_their_offsets(offsets):
    runs = runs_of(offsets)
    assert {o for first, last in runs for o in range(first, last + 1)} == offsets
    assert all(later[0] > earlier[1] + 1 for earlier, later in itertools.pairwise(runs))


class Letters:
    """The rows that a bulk writer gives up. Implements what it asks of BulkSinkContext."""

    def __init__(self) -> None:
        self.offsets: list[int] = []

    def reject(self, given: Batch, rows: dict[int, Exception]) -> None:
        assert given.consumed is not None
        self.offsets += [given.consumed.offsets[row].as_py() for row in rows]


def test_a_chunk_is_written_once_and_its_bad_rows_are_given_up_each_time(table: SqliteTable):
    given = [{"id": 0, "name": "a"}, {"id": 1, "name": "refused"}, {"id": 2, "name": "c"}]
    chunk, other = BulkChunk("job", "orders-0-000000", True), BulkChunk("job", "orders-0-000001", True)
    for _ in range(2):
        letters = Letters()
        writer = JdbcBulkWriter(JdbcSinkConfig.parse(table.config()), letters)  # type: ignore[arg-type]
        assert writer.write(chunk, [batch(given[:2]), batch(given[2:], first=2)], Deadline.after(9)).rows == 2
        assert letters.offsets == [1]
        assert writer.rows_of([chunk, other], Deadline.after(9)) == {chunk.id: 2, other.id: 0}
        writer.close()
    assert table.rows("id") == [(0,), (2,)]


def test_rows_past_kafka_have_no_place_in_it(table: SqliteTable):
    config = JdbcSinkConfig.parse(table.config(pk__mode="kafka", insert__mode="upsert"))
    writer = JdbcBulkWriter(config, Letters())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no offsets to be their keys"):
        writer.write(BulkChunk("job", "c", False), [], Deadline.after(9))
