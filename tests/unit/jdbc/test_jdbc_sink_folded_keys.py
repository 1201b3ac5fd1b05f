"""Keys that a database's collation may take for one are found, and their batch is written in its order."""

from __future__ import annotations

import random
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from jdbc_sink_rows import TOPIC, SqliteTable, batch, opened, put

from connect.api import schema as s
from connectors.jdbc.dialects.firebird.statements import FirebirdStatements
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.sink.changes import changes_of, deletes_first, writes_before_delete
from connectors.jdbc.sink.folded_keys import folded, may_meet
from connectors.jdbc.sink.target_tables import Target, TargetColumn
from connectors.jdbc.sink.texts import Zones
from connectors.jdbc.values.types import Raw


@pytest.mark.parametrize(
    ("keys", "meet"),
    [
        (["abc", "abd"], False),
        (["abc", "abc"], False),
        (["abc", "ABC"], True),
        (["abc", "abc "], True),
        (["abc", "abc\t"], True),
        (["abc", None, None], False),
        (["jan", "ian"], True),
        (["straße", "STRASSE", "x"], True),
        (["über", "Uber"], True),
        (["über", "ueber"], True),
        (["Ångström", "aangstrom"], True),
        (["łódź", "other", "žluť", "İstanbul", "ķirsis"], False),
        (["łódź", "Lodz"], True),
        (["ķirsis", "kirsis"], True),
        (["řeka", "reka"], True),
        (["cœur", "coeur"], True),
        (["Αθήνα", "Πάτρα", "Київ", "Їжак", "a – b"], False),
        (["Αθήνα", "αθηνα"], True),
        (["Σίσυφος", "ΣΙΣΥΦΟΣ"], True),
        (["アイ", "other"], True),
        (["アイ"], False),
        (["\U0001f600", "\U0001f680"], True),
        (["ccs", "cscs"], True),
        (["Großssegel", "Grossegel"], True),
        (["aaa", "åa"], True),
        (["1001", "101"], False),
        (["漢", "字"], False),
        (["Москва", "Минск"], False),
        (["Москва", "москва"], True),
        (["a\u200bb", "ab"], True),
    ],
)
def test_texts_that_a_collation_may_take_for_one_meet(keys, meet):
    assert may_meet(pa.table({"id": pa.array(keys, pa.string())}), ["id"]) == meet


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz0129 -@äÖßøþÆéñй漢\tłķřœΆςЇ–", max_size=6), min_size=2, max_size=6))
def test_keys_meet_exactly_where_their_folded_texts_do(keys):
    different = set(keys)
    meet = len({*map(folded, different)}) < len(different)
    assert may_meet(pa.table({"id": pa.array(keys, pa.string())}), ["id"]) == meet


def test_keys_of_several_columns_meet_where_all_of_them_do_and_numbers_never_do():
    keys = pa.table({"a": ["x", "X", "y"], "n": ["1", "2", "1"]})
    assert not may_meet(keys, ["a"])
    assert may_meet(keys.slice(0, 2).set_column(1, "n", pa.array(["1", "1"])), ["a"])
    assert not may_meet(pa.table({"n": ["1", "2"]}), [])


@pytest.mark.parametrize(
    ("tombstones", "is_mixed", "ends"),
    [
        ([], False, [0]),
        ([False, False], False, [2]),
        ([True, True, False], False, [3]),
        ([False, True], True, [1, 2]),
        ([True, False, True, True, False, False, True], True, [2, 6, 7]),
    ],
)
def test_a_batch_is_parted_where_a_tombstone_follows_a_row(tombstones, is_mixed, ends):
    marks = pa.array(tombstones, pa.bool_())
    assert writes_before_delete(marks) == is_mixed
    assert deletes_first(marks) == ends


@pytest.mark.parametrize("seed", range(20))
def test_parts_leave_what_records_one_by_one_leave_where_case_makes_no_difference(seed):
    draw = random.Random(seed)
    records = [(draw.choice("aAbB"), draw.random() < 0.4) for _ in range(draw.randint(1, 12))]
    wanted: dict[str, int] = {}
    for number, (key, is_tombstone) in enumerate(records):
        wanted.pop(key.lower(), None)
        if not is_tombstone:
            wanted[key.lower()] = number
    marks = pa.array([is_tombstone for _, is_tombstone in records], pa.bool_())
    found: dict[str, int] = {}
    first = 0
    for last in deletes_first(marks):
        keys = pa.table({"id": [key for key, _ in records[first:last]]})
        changes = changes_of(keys, marks.slice(first, last - first), is_keyed=True)
        for row in changes.deleted.to_pylist():
            found.pop(records[first + row][0].lower(), None)
        for row in changes.written.to_pylist():
            found[records[first + row][0].lower()] = first + row
        first = last
    assert found == wanted


def test_a_tombstone_deletes_the_row_before_it_whose_key_differs_in_case_alone(tmp_path: Path):
    table = SqliteTable(tmp_path)
    table.run(f"CREATE TABLE {TOPIC} (id TEXT COLLATE NOCASE PRIMARY KEY, name TEXT)")
    records = [("abc", "a"), ("ABC", None), ("x", "b"), ("y", None), ("X", None), ("x", "c")]
    row = s.struct({"name": s.STRING}, optional=True)
    values = [None if name is None else {"name": name} for _, name in records]
    given = batch(values, keys=[{"id": key} for key, _ in records], schema=row, key_schema=s.struct({"id": s.STRING}))
    with opened(table.config(insert__mode="upsert", pk__mode="record_key", delete__enabled="true")) as task:
        assert put(task, given) == {}
    assert table.rows() == [("x", "c")]


@pytest.mark.parametrize(
    ("schema", "keys"), [(s.INT64, [1, 2, 1]), (s.FLOAT64, [0.5, 1.5, 0.5]), (s.BYTES, [b"a", b"b", b"a"])]
)
def test_a_tombstone_whose_key_is_no_text_deletes_from_a_column_of_text(
    tmp_path: Path, schema: s.Schema, keys: list[object]
):
    table = SqliteTable(tmp_path)
    table.run(f"CREATE TABLE {TOPIC} (id TEXT PRIMARY KEY, name TEXT)")
    row = s.struct({"name": s.STRING}, optional=True)
    values = [{"name": "a"}, {"name": "b"}, None]
    given = batch(values, keys=[{"id": key} for key in keys], schema=row, key_schema=s.struct({"id": schema}))
    with opened(table.config(insert__mode="upsert", pk__mode="record_key", delete__enabled="true")) as task:
        assert put(task, given) == {}
    assert [name for _, name in table.rows()] == ["b"]


def test_firebird_takes_texts_that_differ_in_blanks_at_the_end_for_one():
    utc = ZoneInfo("UTC")
    columns = {
        "id": TargetColumn("id", sa.VARCHAR(20), Raw.TEXT), "data": TargetColumn("data", sa.VARBINARY(20), Raw.BYTES),
    }  # fmt: skip
    target = Target(TableName(None, "T"), columns, [frozenset({"id"})], is_view=False, late_keys={})
    statements = FirebirdStatements(Zones(utc, utc))
    assert statements.may_meet(target, pa.table({"id": ["abc ", "abc"]}))
    assert not statements.may_meet(target, pa.table({"data": [b"abc ", b"abc"]}))
