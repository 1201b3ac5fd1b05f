"""Checks what files hold: JSON arrays, CSV, keys, headers and tombstones beside values, fields left out."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_http_store import TP, Store
from s3_task_runs import TaskRun, batch, written

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.api.records import Column, Header
from connectors.s3.formats.format_specs import AVRO_FORMAT, CSV_FORMAT, JSON_ARRAY_FORMAT, JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER, TIME_PARTITIONER

NUMBERS = s.struct({"n": s.INT64, "country": s.STRING.as_optional()})


def table(body: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(body))


def test_a_json_array_is_one_value_with_a_line_per_record(store: Store):
    (body,) = written(store, batch([{"a": 1}, {"b": [2]}]), batch([{"c": None}], first=2),
                      format_class=JSON_ARRAY_FORMAT).values()  # fmt: skip
    assert body == b'[\n{"a":1},\n{"b":[2]},\n{"c":null}\n]'
    assert json.loads(body) == [{"a": 1}, {"b": [2]}, {"c": None}]


def test_csv_tells_null_from_empty_text_and_quotes_what_must_be(store: Store):
    schema = s.struct({
        "n": s.INT64, "text": s.STRING.as_optional(), "price": s.decimal(2), "at": s.TIMESTAMP_SCHEMA,
        "raw": s.BYTES, "tags": s.array(s.STRING), "flag": s.BOOLEAN,
    })  # fmt: skip
    rows = [
        {"n": 1, "text": 'say "hi",\nthen go', "price": Decimal("1.50"), "at": datetime(2024, 2, 29, 1, tzinfo=UTC),
         "raw": b"\x00\xff", "tags": ["a,b", "c"], "flag": True},
        {"n": -2, "text": None, "price": Decimal("-0.05"), "at": datetime(1969, 12, 31, tzinfo=UTC), "raw": b"",
         "tags": [], "flag": False},
        {"n": 3, "text": "", "price": Decimal("0.00"), "at": datetime(1970, 1, 1, tzinfo=UTC), "raw": b"a",
         "tags": ["x"], "flag": False},
    ]  # fmt: skip
    (item,) = written(store, batch(rows, schema), format_class=CSV_FORMAT).items()
    key, body = item
    assert key.endswith("t+0+0000000000.csv")
    found = list(csv.DictReader(io.StringIO(body.decode(), newline="")))
    assert [row["text"] for row in found] == ['say "hi",\nthen go', "", ""]
    assert body.decode().splitlines()[-1].startswith('3,"",0.00,')
    assert body.decode().splitlines()[-2].startswith("-2,,-0.05,")
    assert found[0] == {
        "n": "1", "text": 'say "hi",\nthen go', "price": "1.50", "at": "2024-02-29T01:00:00.000Z", "raw": "AP8=",
        "tags": '["a,b","c"]', "flag": "true",
    }  # fmt: skip


def test_a_csv_file_of_schemaless_rows_has_the_columns_of_all_of_them(store: Store):
    files = written(store, batch([{"a": 1}]), batch([{"b": "x"}], first=1), format_class=CSV_FORMAT)
    assert list(files.values()) == [b"a,b\n1,\n,x\n"]


def test_a_csv_file_of_nulls_alone_has_a_line_for_each_row(store: Store):
    files = written(store, batch([{"a": None}, {"a": None}]), format_class=CSV_FORMAT)
    assert list(files.values()) == [b"a\n\n\n"]


def test_keys_and_headers_lie_beside_the_values_as_confluents_do(store: Store):
    keys = Column.from_rows(["k1", "k2"], s.STRING)
    headers = [[Header("h", 1), Header("g", "x")], [Header("h", True)]]
    files = written(
        store, batch([{"n": 1, "country": None}, {"n": 2, "country": "DE"}], NUMBERS, keys=keys, headers=headers),
        format_class=PARQUET_FORMAT, store_kafka_keys="true", keys_format_class=PARQUET_FORMAT,
        store_kafka_headers="true", headers_format_class=JSON_FORMAT,
    )  # fmt: skip
    stem = "partition=0/t+0+0000000000"
    assert sorted(files) == [f"{stem}.headers.json", f"{stem}.keys.snappy.parquet", f"{stem}.snappy.parquet"]
    assert table(files[f"{stem}.keys.snappy.parquet"]).to_pylist() == [{"key": "k1"}, {"key": "k2"}]
    assert [json.loads(line) for line in files[f"{stem}.headers.json"].splitlines()] == [
        [{"key": "h", "value": "1"}, {"key": "g", "value": "x"}], [{"key": "h", "value": "true"}],
    ]  # fmt: skip
    assert table(files[f"{stem}.snappy.parquet"])["n"].to_pylist() == [1, 2]


def test_a_record_without_the_key_that_is_to_be_stored_is_one_bad_row(store: Store):
    run = TaskRun(store, format_class=JSON_FORMAT, store_kafka_keys="true")
    keys = Column.from_rows(["a", None, "c"], s.STRING.as_optional())
    with pytest.raises(RejectedRowsError, match=r"The record has no key, and store\.kafka\.keys=true") as raised:
        run.put(batch([{"n": 1}, {"n": 2}, {"n": 3}], keys=keys))
    assert list(raised.value.rows) == [1]
    files = run.written()
    assert [fastavro_rows(body) for key, body in files.items() if ".keys." in key] == [["a", "c"]]


def test_tombstones_are_files_of_keys_at_a_path_of_their_own(store: Store):
    keys = Column.from_rows([1, 2, 3], s.INT64)
    files = written(
        store, batch([{"n": 1, "country": "DE"}, None, {"n": 3, "country": "DE"}], NUMBERS.as_optional(), keys=keys),
        format_class=JSON_FORMAT, store_kafka_keys="true", behavior_on_null_values="write",
        partitioner_class=FIELD_PARTITIONER, partition_field_name="country", tombstone_encoded_partition="gone",
    )  # fmt: skip
    assert {key: fastavro_rows(body) for key, body in files.items() if ".keys." in key} == {
        "country=DE/t+0+0000000000.keys.avro": [1, 3], "gone/t+0+0000000001.keys.avro": [2],
    }  # fmt: skip
    assert [key for key in files if key.startswith("gone/")] == ["gone/t+0+0000000001.keys.avro"]


@pytest.mark.parametrize("value", [{"n": 1, "ts": 1500}, None])
def test_tombstones_have_the_time_of_their_record_for_rotation(store: Store, value):
    keys = Column.from_rows([1, 2, 3], s.INT64)
    schema = s.struct({"n": s.INT64, "ts": s.INT64}).as_optional()
    files = written(
        store, batch([value, None, None], schema, first=1500, keys=keys), format_class=JSON_FORMAT,
        store_kafka_keys="true", behavior_on_null_values="write", rotate_interval_ms="1000",
        timestamp_extractor="RecordField", timestamp_field="ts",
    )  # fmt: skip
    found = [fastavro_rows(body) for key, body in files.items() if ".keys." in key]
    assert sorted(found) == ([[1], [2, 3]] if value else [[1, 2, 3]])


def test_ignored_nulls_need_no_key(store: Store):
    keys = Column.from_rows([None, 2], s.INT64.as_optional())
    files = written(
        store, batch([None, {"n": 3, "country": None}], NUMBERS.as_optional(), keys=keys), format_class=AVRO_FORMAT,
        store_kafka_keys="true", behavior_on_null_values="ignore",
    )  # fmt: skip
    stem = "partition=0/t+0+0000000001"
    assert {key: fastavro_rows(body) for key, body in files.items()} == {
        f"{stem}.keys.avro": [2], f"{stem}.avro": [{"n": 3, "country": None}],
    }  # fmt: skip


@pytest.mark.parametrize("headers_format", [AVRO_FORMAT, JSON_FORMAT, PARQUET_FORMAT])
def test_a_poll_of_ignored_nulls_alone_moves_the_offset(store: Store, headers_format: str):
    run = TaskRun(
        store, format_class=JSON_FORMAT, store_kafka_keys="true", store_kafka_headers="true",
        headers_format_class=headers_format, behavior_on_null_values="ignore",
    )  # fmt: skip
    run.put(batch([None, None], keys=Column.from_rows(["a", "b"], s.STRING), headers=[[Header("h", 1)]] * 2))
    assert run.flush() == {TP: 2}


def test_a_record_without_a_key_behind_an_ignored_null_is_the_only_bad_row(store: Store):
    run = TaskRun(store, format_class=JSON_FORMAT, store_kafka_keys="true", behavior_on_null_values="ignore")
    keys = Column.from_rows(["a", "b", None, "d"], s.STRING.as_optional())
    with pytest.raises(RejectedRowsError, match="The record has no key") as raised:
        run.put(batch([None, {"n": 1}, {"n": 2}, {"n": 3}], keys=keys))
    assert list(raised.value.rows) == [2]
    assert [body for key, body in run.written().items() if ".keys." not in key] == [b'{"n":1}\n{"n":3}\n']


def test_a_delimiter_at_the_end_of_the_path_format_makes_no_folder_without_a_name(store: Store):
    (key,) = written(
        store, batch([{"n": 1}]), format_class=JSON_FORMAT, partitioner_class=TIME_PARTITIONER, locale="en",
        timezone="UTC", path_format="'year'=YYYY/'month'=MM/", partition_duration_ms="3600000",
        timestamp_extractor="Record",
    )  # fmt: skip
    assert key == "year=1970/month=01/t+0+0000000000.json"


def test_json_of_rows_that_have_nothing_but_the_fields_of_the_path_is_empty_objects(store: Store):
    values = Column.whole(pa.array([{"country": "DE"}] * 2))
    given = replace(batch([None, None]), values=values)
    (body,) = written(
        store, given, format_class=JSON_FORMAT, partitioner_class=FIELD_PARTITIONER, partition_field_name="country",
        partition_field_drop="true",
    ).values()  # fmt: skip
    assert body == b"{}\n{}\n"


@pytest.mark.parametrize("format_class", [PARQUET_FORMAT, AVRO_FORMAT, JSON_FORMAT])
def test_fields_of_the_path_can_be_left_out_of_the_file(store: Store, format_class: str):
    rows = [{"n": 1, "country": "DE"}, {"n": 2, "country": "DE"}]
    (body,) = written(
        store, batch(rows, NUMBERS), format_class=format_class, partitioner_class=FIELD_PARTITIONER,
        partition_field_name="country", partition_field_drop="true",
    ).values()  # fmt: skip
    found = {
        PARQUET_FORMAT: lambda: table(body).to_pylist(),
        AVRO_FORMAT: lambda: fastavro_rows(body),
        JSON_FORMAT: lambda: [json.loads(line) for line in body.splitlines()],
    }[format_class]()
    assert found == [{"n": 1}, {"n": 2}]


def test_schemaless_fields_that_no_row_gives_a_type_are_left_out_of_the_file(store: Store):
    rows = [{"n": 1, "x": None, "tags": [], "in": {"a": None, "b": 2}}, {"n": 2, "x": None, "tags": [], "in": None}]
    (body,) = written(store, batch(rows), format_class=PARQUET_FORMAT).values()
    assert table(body).schema.names == ["n", "in"]
    assert table(body).to_pylist() == [{"n": 1, "in": {"b": 2}}, {"n": 2, "in": None}]


def fastavro_rows(body: bytes) -> list:
    return list(fastavro.reader(io.BytesIO(body)))


WITHOUT_FIELDS = [
    ([{}, {}], None, {}),
    ([{"p": "a"}, {"p": "b"}], None, {"partition_field_drop": "true"}),
    ([{"p": "a"}, {"p": "b"}], s.struct({"p": s.STRING}), {"partition_field_drop": "true"}),
]


@pytest.mark.parametrize("format_class", [CSV_FORMAT, PARQUET_FORMAT])
@pytest.mark.parametrize(("rows", "schema", "settings"), WITHOUT_FIELDS)
def test_rows_that_have_no_field_for_the_file_are_bad_rows(store, format_class, rows, schema, settings):
    dropped = {"partitioner_class": FIELD_PARTITIONER, "partition_field_name": "p", **settings} if settings else {}
    run = TaskRun(store, format_class=format_class, **dropped)
    with pytest.raises(RejectedRowsError, match="without fields") as refused:
        run.put(batch(rows, schema))
    assert set(refused.value.rows) == {0, 1}
