"""Rows that are in objects are read again and rows of another schema follow: what is new keeps its own schema."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
from s3_task_runs import TaskRun, batch

from connect.api import schema as s
from connect.api.records import Column
from connectors.s3.formats.format_specs import AVRO_FORMAT, CSV_FORMAT, JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER

OLD = s.struct({"n": s.INT64})
WITH_COLUMN = s.struct({"n": s.INT64, "extra": s.STRING})
AS_TEXT = s.struct({"n": s.STRING})
AS_DOUBLE = s.struct({"n": s.FLOAT64})
WITHOUT_COLUMN = s.struct({"extra": s.STRING})
CHANGES = {
    "added": (WITH_COLUMN, [{"n": 2, "extra": "x"}, {"n": 3, "extra": ""}]),
    "text": (AS_TEXT, [{"n": "2"}, {"n": "03"}]),
    "double": (AS_DOUBLE, [{"n": 2.0}, {"n": 3.5}]),
    "removed": (WITHOUT_COLUMN, [{"extra": "x"}, {"extra": "y"}]),
}
FORMATS = {"parquet": PARQUET_FORMAT, "avro": AVRO_FORMAT, "csv": CSV_FORMAT}


def read(body: bytes, key: str) -> tuple[list[Any], Any]:
    """The rows of an object, and what it says their types are."""
    if key.endswith(".parquet"):
        table = pq.read_table(io.BytesIO(body))
        return table.to_pylist(), {field.name: str(field.type) for field in table.schema}
    if key.endswith(".avro"):
        reader = fastavro.reader(io.BytesIO(body))
        return list(reader), {field["name"]: field["type"] for field in reader.writer_schema["fields"]}
    lines = csv.DictReader(io.StringIO(body.decode()))
    return list(lines), lines.fieldnames


def objects(store: Any) -> list[tuple[list[Any], Any]]:
    return [read(body, key) for key, (body, _) in sorted(store.objects.items())]


def two_lives(store: Any, second: Sequence[Any], **settings: str) -> list[tuple[list[Any], Any]]:
    """A life that puts the first batch and dies before its commit, and one that reads it again before the others."""
    first = TaskRun(store, **settings)
    first.put(second[0])
    first.written()
    again = TaskRun(store, **settings)
    for given in second:
        again.put(given)
    again.written()
    return objects(store)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_rows_of_another_schema_behind_known_ones_keep_it(store, format_name, change):
    schema, values = CHANGES[change]
    file_format = FORMATS[format_name]
    known, new = batch([{"n": 0}, {"n": 1}], OLD), batch(values, schema, first=2)
    found = two_lives(store, [known, new], format_class=file_format)
    alone = TaskRun(store, format_class=file_format, topics_dir="alone")
    alone.put(new)
    alone.written()
    assert len(found) == 2
    assert found[1] == objects(store)[0], "as it is written where nothing was read before"


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_schemaless_rows_behind_known_ones_have_their_own_types(store, format_name):
    known, new = batch([{"n": 0, "gone": "x"}]), batch([{"n": "one"}], first=1)
    found = two_lives(store, [known, new], format_class=FORMATS[format_name])
    assert found[1][0] == [{"n": "one"}]


def test_a_csv_file_has_no_columns_that_only_other_rows_of_its_poll_have(store):
    run = TaskRun(store, format_class=CSV_FORMAT, flush_size="2")
    run.put(batch([{"n": 1}, {"n": 2, "gone": None}, {"n": 3, "m": "x"}, {"n": 4, "m": ""}]))
    run.written()
    assert [names for _, names in objects(store)] == [["n"], ["n", "m"]]


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_known_rows_that_were_polled_together_with_new_ones_give_these_no_column(store, format_name):
    first = TaskRun(store, format_class=FORMATS[format_name])
    first.put(batch([{"n": 0, "gone": "x"}]))
    first.written()
    again = TaskRun(store, format_class=FORMATS[format_name])
    again.put(batch([{"n": 0, "gone": "x"}, {"n": 1}]))
    again.written()
    assert [list(row) for row in objects(store)[1][0]] == [["n"]]


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_known_rows_that_were_polled_together_with_new_ones_have_no_say_in_later_types(store, format_name):
    first = TaskRun(store, format_class=FORMATS[format_name], flush_size="9")
    first.put(batch([{"n": 0, "m": "x"}]))
    first.written()
    again = TaskRun(store, format_class=FORMATS[format_name], flush_size="9")
    again.put(batch([{"n": 0, "m": "x"}, {"n": 1}]))
    again.put(batch([{"n": 2, "m": 5}], first=2))
    again.written()
    assert [len(rows) for rows, _ in objects(store)] == [1, 2], "the new rows are one file"


@pytest.mark.parametrize(
    ("mode", "format_name"),
    [*product(["BACKWARD", "FULL", "FORWARD"], ["parquet", "avro"]), ("MERGE", "parquet")],
)
def test_known_rows_have_no_say_in_what_other_versions_become(store, format_name, mode):
    """Older rows lose a field that newer ones lack, and newer ones a field that older ones lack."""
    older, newer = (replace(schema, version=number, name="Row") for number, schema in ((1, OLD), (2, WITHOUT_COLUMN)))
    known, new = batch([{"n": 0}], older), batch([{"extra": "x"}], newer, first=1)
    if mode in {"BACKWARD", "FULL"}:
        known, new = batch([{"extra": "x"}], newer), batch([{"n": 0}], older, first=1)
    found = two_lives(store, [known, new], format_class=FORMATS[format_name], schema_compatibility=mode)
    assert found[1][0] == new.values.rows()


@pytest.mark.parametrize("mode", ["BACKWARD", "MERGE"])
def test_the_next_file_has_the_schema_of_its_own_rows(store, mode):
    older, newer = (replace(schema, version=number, name="Row") for number, schema in ((1, OLD), (2, WITHOUT_COLUMN)))
    run = TaskRun(store, format_class=PARQUET_FORMAT, schema_compatibility=mode)
    run.put(batch([{"extra": "x"}], newer))
    run.flush()
    run.put(batch([{"n": 0}], older, first=1))
    run.written()
    assert [rows for rows, _ in objects(store)] == [[{"extra": "x"}], [{"n": 0}]]


def test_a_file_has_no_columns_that_only_other_paths_have(store):
    run = TaskRun(store, format_class=PARQUET_FORMAT, partitioner_class=FIELD_PARTITIONER, partition_field_name="p")
    run.put(batch([{"p": "a", "n": 1, "in": {"x": 1}}, {"p": "b", "m": "x", "in": {"y": None}}]))
    run.put(batch([{"p": "b", "k": 1.5}], first=2))
    run.written()
    (_, of_a), (_, of_b) = objects(store)
    assert of_a == {"p": "string", "n": "int64", "in": "struct<x: int64>"}
    assert of_b == {"p": "string", "m": "string", "k": "double"}


def test_rows_behind_the_end_of_a_file_have_no_say_in_its_types(store):
    run = TaskRun(store, format_class=PARQUET_FORMAT, flush_size="2")
    run.put(batch([{"n": 1}, {"n": 2}, {"n": 3}]))
    run.put(batch([{"n": 0.5, "m": 1}], first=3))
    run.written()
    assert [types for _, types in objects(store)] == [{"n": "int64"}, {"n": "double", "m": "int64"}]


def test_a_file_that_has_ended_among_many_others_keeps_its_types(store):
    run = TaskRun(
        store, format_class=PARQUET_FORMAT, flush_size="2", partitioner_class=FIELD_PARTITIONER,
        partition_field_name="p",
    )  # fmt: skip
    run.put(batch([{"p": f"{number:02d}", "n": 1} for number in range(20)]))
    run.put(batch([{"p": "00", "n": 2}, {"p": "00", "n": 3}], first=20))
    run.put(batch([{"p": "01", "n": 0.5}], first=22))
    run.written()
    assert [(len(rows), types["n"]) for rows, types in objects(store)][:3] == [
        (2, "int64"),
        (1, "int64"),
        (2, "double"),
    ]


@pytest.mark.parametrize("first", ["tombstone", "value"])
@pytest.mark.parametrize("format_name", [*FORMATS, "json"])
def test_polls_of_tombstones_leave_the_schema_of_values_alone(store, format_name, first):
    run = TaskRun(
        store, format_class=FORMATS.get(format_name, JSON_FORMAT), store_kafka_keys="true",
        keys_format_class=JSON_FORMAT, behavior_on_null_values="write",
    )  # fmt: skip
    values = [[None], [{"n": 1}]] if first == "tombstone" else [[{"n": 1}], [None], [{"n": 2}]]
    for number, (value,) in enumerate(values):
        schema = OLD.as_optional() if value is not None else None
        run.put(batch([value], schema, number, keys=Column.from_rows([number], s.INT64)))
    names = list(run.written())
    assert sum(".keys." not in name for name in names) == 1, "all values are in one file"


def test_schemaless_rows_do_not_widen_a_file_of_rows_with_a_schema(store):
    run = TaskRun(store, format_class=PARQUET_FORMAT)
    run.put(batch([{"n": 1}], s.struct({"n": s.INT32})))
    run.put(batch([{"n": 2, "m": "x"}], first=1))
    run.written()
    assert [types for _, types in objects(store)] == [{"n": "int32"}, {"n": "int64", "m": "string"}]


VARIED = [{"n": 0, "first": "x"}, {"n": 1, "in": {"b": 2}}, {"n": 2, "last": [1], "in": {"a": 1}}]
"""Schemaless rows, each with fields of its own."""
OWN = {
    "parquet": [
        {"n": "int64", "first": "string"},
        {"n": "int64", "in": "struct<b: int64>"},
        {"n": "int64", "in": "struct<a: int64>", "last": "list<element: int64>"},
    ],
    "csv": [{"n", "first"}, {"n", "in"}, {"n", "in", "last"}],
}
"""The columns of files that hold one of these rows alone."""


def columns(store: Any, format_name: str) -> list[Any]:
    """The columns of each object of values, and their types where they have one."""
    found = [read(body, key) for key, (body, _) in sorted(store.objects.items()) if ".keys." not in key]
    assert [int(row["n"]) for rows, _ in found for row in rows] == [0, 1, 2]
    return [set(told) if format_name == "csv" else told for _, told in found]


@pytest.mark.parametrize("format_name", OWN)
def test_rows_that_other_owners_have_written_leave_no_columns_in_the_rest(store, format_name):
    settings = {"format_class": FORMATS[format_name]}
    frozen, owners = TaskRun(store, **settings), [TaskRun(store, **settings) for _ in range(2)]
    frozen.put(batch(VARIED))
    for row, owner in enumerate(owners):
        owner.put(batch(VARIED[row : row + 1], first=row))
        owner.written()
    frozen.written()
    assert columns(store, format_name) == OWN[format_name]


@pytest.mark.parametrize("format_name", OWN)
def test_rows_behind_the_end_of_keys_of_a_former_life_leave_no_columns_before_it(store, format_name):
    settings = {"format_class": FORMATS[format_name], "store_kafka_keys": "true"}
    former, heir = TaskRun(store, **settings), TaskRun(store, **settings)
    former.put(batch(VARIED[:1], keys=Column.from_rows(["k"], s.STRING)))
    store.faults = ["", "503"]
    former.flush_and_die()
    store.faults = []
    heir.put(batch(VARIED, keys=Column.from_rows(["k"] * 3, s.STRING)))
    heir.written()
    before, behind = columns(store, format_name)
    assert before == OWN[format_name][0]
    assert set(behind) == {"n", "in", "last"}
