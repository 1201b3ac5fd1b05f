"""Writes Avro files, read back by fastavro: every Connect type, every codec, any cut; and what they refuse."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from s3_http_store import TP, config
from s3_task_runs import TaskRun

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.avro import AvroFormat
from connectors.s3.formats.avro_codecs import CODECS
from connectors.s3.formats.format_specs import AVRO_FORMAT
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask

DEFAULTS = {"enhanced.avro.schema.support": "true", "connect.meta.data": "true"}
ALL_TYPES = s.struct({
    "i8": s.INT8, "i16": s.INT16, "i32": s.INT32, "i64": s.INT64, "f32": s.FLOAT32, "f64": s.FLOAT64,
    "flag": s.BOOLEAN, "text": s.STRING.as_optional(), "raw": s.BYTES, "price": s.decimal(2, precision=20),
    "day": s.DATE_SCHEMA, "at": s.TIME_SCHEMA, "moment": s.TIMESTAMP_SCHEMA, "tags": s.array(s.STRING.as_optional()),
    "counts": s.map_of(s.STRING, s.INT32), "inner": s.struct({"x": s.INT32.as_optional()}, name="a.b.Inner"),
}, name="a.b.Row")  # fmt: skip
ROWS = [
    {
        "i8": -128, "i16": 32767, "i32": -(2**31), "i64": 2**53 + 1, "f32": 1.5, "f64": -0.0, "flag": True,
        "text": "naïve 🜁", "raw": b"\x00\xff\n", "price": Decimal("-1234567890.01"), "day": date(1, 1, 1),
        "at": time(23, 59, 59, 999000), "moment": datetime(2024, 2, 29, 1, 2, 3, 4000, tzinfo=UTC),
        "tags": ["a", None, ""], "counts": {"a": 1}, "inner": {"x": None},
    },
    {
        "i8": 0, "i16": 0, "i32": 0, "i64": -(2**63), "f32": 0.0, "f64": 5e-324, "flag": False, "text": None,
        "raw": b"", "price": Decimal("0.00"), "day": date(2024, 2, 29), "at": time(0),
        "moment": datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), "tags": [], "counts": {}, "inner": {"x": 7},
    },
]  # fmt: skip


def avro_format(codec: str, properties: dict[str, str] | None = None) -> AvroFormat:
    return AvroFormat(codec, lambda schema: avro_values(schema, properties or DEFAULTS))


def batch(values: list, schema: s.Schema | None, first: int = 0) -> Batch:
    offsets = pa.array(range(first, first + len(values)), pa.int64())
    return Batch("t", Column.from_rows(values, schema), consumed=Consumed(TP, offsets, first + len(values)))


def read(data: bytes | pa.Buffer) -> list:
    return list(fastavro.reader(io.BytesIO(bytes(data))))


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_every_connect_type_reads_back_equal_with_every_codec(codec):
    file_format = avro_format(codec)
    prepared = file_format.prepare(batch(ROWS, ALL_TYPES))
    encoder = file_format.encoder()
    encoder.write(prepared.rows, prepared.schema)
    data = encoder.end().data
    assert read(data) == ROWS
    assert fastavro.reader(io.BytesIO(bytes(data))).codec == codec
    assert fastavro.reader(io.BytesIO(bytes(data))).writer_schema["name"] == "a.b.Row"


@pytest.mark.parametrize("codec", sorted(CODECS))
@pytest.mark.parametrize("cut", [1, 900, 2999])
def test_the_rest_of_a_file_of_many_blocks_is_what_the_rest_of_its_rows_would_be(codec, cut):
    schema = s.struct({"n": s.INT64, "t": s.STRING})
    rows = [{"n": n, "t": f"row {n} " * (n % 40)} for n in range(3000)]
    file_format = avro_format(codec)
    whole, rest = file_format.encoder(), file_format.encoder()
    for part in (rows[:7], rows[7:2000], rows[2000:]):
        prepared = file_format.prepare(batch(part, schema))
        whole.write(prepared.rows, prepared.schema)
    prepared = file_format.prepare(batch(rows[cut:], schema))
    rest.write(prepared.rows, prepared.schema)
    body = whole.end()
    assert body.without_first(cut).data.equals(rest.end().data)
    assert read(body.data) == rows
    assert read(body.without_first(cut).data) == rows[cut:]


def test_connects_meta_data_is_in_the_schema_or_not():
    schema = s.struct({"d": s.Schema(s.Type.INT32, name="my.Own", version=3)})
    texts = [avro_values(schema, {**DEFAULTS, "connect.meta.data": given}).schema_text for given in ("true", "false")]
    assert ["my.Own" in text for text in texts] == [True, False]


def test_a_changed_schema_begins_a_new_file_and_schemaless_rows_are_refused(store):
    settings = {"format_class": AVRO_FORMAT, "flush_size": "100", "avro_codec": "deflate"}
    clock = [0]
    task = S3SinkTask(
        ConfluentPlan(config(store, rotate_schedule_interval_ms="1000", **settings)), now_ms=lambda: clock[0]
    )
    task.open(FakeSinkContext(avro_values=avro_values))
    one, two = s.struct({"a": s.INT32}).as_optional(), s.struct({"a": s.INT32, "b": s.STRING.as_optional()})
    task.put(batch([{"a": 1}, {"a": 2}], one), Deadline.after(60))
    with pytest.raises(RejectedRowsError, match="a null value") as raised:
        task.put(batch([{"a": 3}, None], one, 2), Deadline.after(60))
    assert set(raised.value.rows) == {1}
    task.put(batch([{"a": 4, "b": "x"}], two, 4), Deadline.after(60))
    with pytest.raises(RejectedRowsError, match="AvroFormat writes values with a schema") as raised:
        task.put(batch([{"a": 5}], None, 5), Deadline.after(60))
    clock[0] = 1000
    assert task.flush(Deadline.after(60)) == {TP: 6}
    task.close()
    assert [read(body) for _, (body, _) in sorted(store.objects.items())] == [
        [{"a": 1}, {"a": 2}, {"a": 3}], [{"a": 4, "b": "x"}],
    ]  # fmt: skip


def test_values_that_are_no_struct_are_records_of_their_own_type():
    file_format = avro_format("null")
    encoder = file_format.encoder()
    prepared = file_format.prepare(batch(["a", "b"], s.STRING))
    encoder.write(prepared.rows, prepared.schema)
    assert read(encoder.end().data) == ["a", "b"]


def test_rows_that_all_have_the_same_bytes_are_as_many_records(store):
    schema = s.struct({"tags": s.array(s.STRING), "note": s.STRING.as_optional()})
    rows = [{"tags": [], "note": None}] * 2
    run = TaskRun(store, format_class=AVRO_FORMAT)
    run.put(batch(rows, schema))
    assert [[*fastavro.reader(io.BytesIO(body))] for body in run.written().values()] == [rows]
