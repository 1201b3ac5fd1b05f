"""Rows without a schema that have the same fields are written together, and rows of one key keep their order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jdbc_sink_rows import TOPIC, SqliteTable, batch, opened, put

from connect.api.records import Batch, Column
from connectors.jdbc.sink.alike_rows import alike, alike_by_key, alike_in_turn, fields_of
from connectors.jdbc.sink.writer import TableWriter

KEYED = {"insert__mode": "upsert", "pk__mode": "record_value", "pk__fields": "id"}
SETS = st.sampled_from([frozenset("a"), frozenset("b"), frozenset("ab")])


@given(st.lists(st.tuples(st.integers(0, 3), SETS), max_size=30))
def test_each_row_is_in_one_group_of_its_fields_and_behind_the_rows_of_its_key(rows):
    fields = [has for _, has in rows]
    keys = pa.table({"id": pa.array([key for key, _ in rows], pa.int64())})
    for groups in (alike(fields), alike_in_turn(fields), alike_by_key(fields, keys)):
        assert sorted(number for group in groups for number in group) == list(range(len(rows)))
        assert all(len({fields[number] for number in group}) == 1 for group in groups)
    order = [number for group in alike_by_key(fields, keys) for number in group]
    for key in range(4):
        own = [number for number in order if rows[number][0] == key]
        assert own == sorted(own)


def test_rows_are_cut_only_where_a_key_comes_again_with_other_fields():
    fields = [frozenset("ab"[number % 2]) for number in range(100)]
    keys = pa.table({"id": [number // 2 for number in range(100)]})
    assert [len(group) for group in alike_by_key(fields, keys)] == [50, 50]
    assert len(alike_by_key(fields, pa.table({"id": [*range(98), 7, 7]}))) == 4


def test_fields_that_are_not_written_do_not_count():
    values = Column.from_rows([{"id": 1, "x": 1}, {"id": 2, "y": 2}, None, {"z": 3}], None)
    assert fields_of(values, frozenset({"id"})) == [{"id"}, {"id"}, {"id"}, set()]
    assert fields_of(values.slice(0, 3), frozenset({"id"})) is None
    assert fields_of(values.slice(0, 3)) == [{"id", "x"}, {"id", "y"}, {"id", "y"}]


@pytest.fixture
def landed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of rows that are written together, as they come."""
    sizes: list[int] = []
    land = TableWriter._land_alike

    def counted(self: TableWriter, connection: Any, rows: Batch) -> None:
        sizes.append(len(rows))
        land(self, connection, rows)

    monkeypatch.setattr(TableWriter, "_land_alike", counted)
    return sizes


def _written(table: SqliteTable, rows: Sequence[dict[str, Any]], **settings: str) -> list[tuple[Any, ...]]:
    table.run(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
    with opened(table.config(**KEYED, **settings)) as task:
        assert put(task, batch(rows, schema=None)) == {}
    return table.rows("id, name, age")


def test_rows_that_differ_in_fields_that_are_left_out_are_written_together(tmp_path: Path, landed: list[int]):
    rows = [{"id": number, "name": "a", f"other{number}": 1} for number in range(20)]
    found = _written(SqliteTable(tmp_path), rows, fields__whitelist="name")
    assert found == [(number, "a", None) for number in range(20)]
    assert landed == [20]


def test_a_key_with_two_sets_of_fields_does_not_make_a_batch_row_by_row(tmp_path: Path, landed: list[int]):
    rows = [row for number in range(20) for row in ({"id": number, "name": "a"}, {"id": number, "age": number})]
    assert _written(SqliteTable(tmp_path), rows) == [(number, "a", number) for number in range(20)]
    assert landed == [20, 20]
