"""A bad row is one bad row, named by its field, whatever was polled together with it; all others are written."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_http_store import TP, Store, config

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import BYTES_FORMAT, JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import DAILY_PARTITIONER, FIELD_PARTITIONER
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask

pytestmark = pytest.mark.thorough

JSON = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))
SCHEMALESS = None


def batch(values: list, first: int, schema: s.Schema | None) -> Batch:
    if schema is SCHEMALESS:
        (column,) = JSON.decode("t", pa.array([json.dumps(value).encode() for value in values], pa.binary()))
    else:
        column = Column.from_rows(values, schema)
    offsets = pa.array(range(first, first + len(values)), pa.int64())
    return Batch("t", column, timestamps_ms=offsets, consumed=Consumed(TP, offsets, first + len(values)))


def run(store: Store, values: list, polls: list[int], schema: s.Schema | None, **settings: str) -> dict[int, Exception]:
    """The rows that were refused, by offset; all others are in objects and their offsets are durable."""
    clock = [0]
    given = config(store, **{"flush_size": "1000000", "rotate_schedule_interval_ms": "1000", **settings})
    task = S3SinkTask(ConfluentPlan(given), now_ms=lambda: clock[0])
    task.open(FakeSinkContext())
    bad: dict[int, Exception] = {}
    first = 0
    for size in polls:
        try:
            task.put(batch(values[first : first + size], first, schema), Deadline.after(60))
        except RejectedRowsError as error:
            bad |= {first + row: reason for row, reason in error.rows.items()}
        first += size
    assert first == len(values)
    clock[0] = 1000
    assert task.flush(Deadline.after(60)) == {TP: len(values)}
    task.close()
    return bad


def parquet_rows(store: Store) -> list[list]:
    """The rows of each object, objects in the order of their keys."""
    bodies = [body for _, (body, _) in sorted(store.objects.items())]
    return [pq.read_table(io.BytesIO(body)).to_pylist() for body in bodies]


GOOD = [{"a": 1, "c": "DE"}, {"a": 2, "c": "FR"}]
NO_PARQUET = [
    ({"a": 2**70, "c": "DE"}, SCHEMALESS, "Field 'a': .*too large"),
    ({"a": 1, "x": {"y": {}}}, SCHEMALESS, r"Field 'x\.y': Parquet cannot hold a struct without fields"),
    ({"a": 1, "x": [1, "one"]}, SCHEMALESS, "Field 'x': .*Could not convert 'one'"),
    ({"a": Decimal(10) ** 38, "c": "DE"}, s.struct({"a": s.decimal(0), "c": s.STRING}), "Field 'a'"),
]


POLLS = [[5], [2, 1, 2], [1, 1, 1, 1, 1], [3, 2]]


@pytest.mark.parametrize("polls", POLLS)
@pytest.mark.parametrize(("value", "schema", "words"), NO_PARQUET)
def test_a_value_that_parquet_cannot_hold_is_one_bad_row_however_polls_fell(store, value, schema, words, polls):
    good = [{**row, "a": Decimal(row["a"])} for row in GOOD] if schema else GOOD
    bad = run(store, [*good, value, *good], polls, schema, format_class=PARQUET_FORMAT)
    assert list(bad) == [2]
    assert re.search(words, str(bad[2]))
    assert parquet_rows(store) == [[*good, *good]]


@pytest.mark.parametrize("polls", POLLS)
def test_a_row_of_another_type_begins_a_new_file_however_polls_fell(store, polls):
    values = [{"a": 1}, {"a": 2, "b": 5}, {"a": "x"}, {"b": 2**53 + 1}, {"b": 1.5}]
    assert run(store, values, polls, SCHEMALESS, format_class=PARQUET_FORMAT) == {}
    assert parquet_rows(store) == [
        [{"a": 1, "b": None}, {"a": 2, "b": 5}],
        [{"a": "x", "b": None}, {"a": None, "b": 2**53 + 1}],
        [{"b": 1.5}],
    ]


@pytest.mark.parametrize("polls", POLLS)
def test_a_row_of_another_type_is_written_as_json_and_found_by_its_own_field(store, polls):
    settings = {"format_class": JSON_FORMAT, "partitioner_class": FIELD_PARTITIONER, "partition_field_name": "c"}
    values = [{"a": 1, "c": "DE"}, {"a": "x", "c": "DE"}, {"a": {"deep": []}, "c": 5}, {"a": 1, "c": 2.5}, {"c": None}]
    bad = run(store, values, polls, SCHEMALESS, **settings)
    assert list(bad) == [3]
    assert "Field 'c': FieldPartitioner cannot make a directory of Arrow type double" in str(bad[3])
    written = {path.split("/")[-2]: [orjson.loads(line) for line in body.splitlines()]
               for path, (body, _) in store.objects.items()}  # fmt: skip
    assert written == {
        "c%3DDE": [values[0], values[1]], "c%3D5": [values[2]], "c%3D__HIVE_DEFAULT_PARTITION__": [values[4]],
    }  # fmt: skip


@pytest.mark.parametrize("polls", POLLS)
@pytest.mark.parametrize(("field", "without"), [("c", {"a": 2}), ("c.b", {"c": {"x": 2}}), ("c.b", {"c": 2})])
def test_a_row_without_the_field_of_the_path_is_one_bad_row(store, field, without, polls):
    settings = {"format_class": JSON_FORMAT, "partitioner_class": FIELD_PARTITIONER, "partition_field_name": field}
    there = [{"c": {"b": "DE"}}, {"c": {"b": None}}, {"c": None}] if field == "c.b" else [{"c": "DE"}, {"c": None}]
    values = [there[0], without, *there[-2:], without]
    bad = run(store, values, polls, SCHEMALESS, **settings)
    assert list(bad) == [1, 4]
    assert f"Field '{field}': The value has no such field" in str(bad[1])
    written = [orjson.loads(line) for body, _ in store.objects.values() for line in body.splitlines()]
    assert sorted(written, key=str) == sorted([there[0], *there[-2:]], key=str)


@pytest.mark.parametrize("polls", POLLS)
def test_a_time_of_another_type_is_one_bad_row(store, polls):
    settings = {
        "format_class": JSON_FORMAT, "partitioner_class": DAILY_PARTITIONER, "timestamp_extractor": "RecordField",
        "timestamp_field": "at",
    }  # fmt: skip
    values = [{"at": 0, "x": 1}, {"at": "1970-01-01", "x": "1"}, {"at": True}, {"at": None}, {"at": 1}]
    assert list(run(store, values, polls, SCHEMALESS, **settings)) == [2, 3]
    assert len(store.objects) == 1


@pytest.mark.parametrize("polls", POLLS)
def test_a_value_that_is_no_bytes_is_one_bad_row_of_the_byte_format(store, polls):
    bad = run(store, ["a", "b", {"a": 1}, "d", 5], polls, SCHEMALESS, format_class=BYTES_FORMAT)
    assert list(bad) == [2, 4]
    assert "ByteArrayFormat cannot write values" in str(bad[2])
    assert [body for body, _ in store.objects.values()] == [b"a\nb\nd\n"]


@pytest.mark.parametrize("polls", POLLS)
def test_a_row_whose_object_key_would_be_too_long_is_one_bad_row(store, polls):
    settings = {"format_class": JSON_FORMAT, "partitioner_class": FIELD_PARTITIONER, "partition_field_name": "c"}
    values = [{"c": "a"}, {"c": "b" * 1000}, {"c": "a"}, {"c": "ü" * 500}, {"c": "a"}]
    bad = run(store, values, polls, SCHEMALESS, **settings)
    assert list(bad) == [1, 3]
    assert "and S3 takes 1024" in str(bad[1])
    assert [body for body, _ in store.objects.values()] == [b'{"c":"a"}\n' * 3]


def test_a_declared_type_that_cannot_be_written_refuses_every_row(store):
    schema = s.struct({"e": s.struct({})})
    assert list(run(store, [{"e": {}}] * 3, [3], schema, format_class=PARQUET_FORMAT)) == [0, 1, 2]
    settings = {"format_class": JSON_FORMAT, "partitioner_class": FIELD_PARTITIONER, "partition_field_name": "no"}
    assert list(run(store, [{"e": {}}] * 3, [3], schema, **settings)) == [0, 1, 2]
    assert store.objects == {}


@pytest.mark.parametrize("polls", POLLS)
@pytest.mark.parametrize("field", [{"x": 1}, [1]])
def test_a_field_of_the_path_that_is_no_value_is_one_bad_row(store, field, polls):
    values = [*GOOD, {"a": 3, "c": field}, *GOOD]
    bad = run(
        store, values, polls, SCHEMALESS, format_class=JSON_FORMAT, partitioner_class=FIELD_PARTITIONER,
        partition_field_name="c",
    )  # fmt: skip
    assert bad.keys() == {2}
    assert re.search("Field 'c': FieldPartitioner cannot make a directory", str(bad[2]))
    assert len({key.split("/")[4] for key in store.objects}) == 2
