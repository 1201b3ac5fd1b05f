"""A chunk of a backfill is in the bucket once, whoever writes it, how often, and wherever a try ends."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest
from s3_http_store import Store

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.bulk import BulkChunk
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.bulk import S3BulkWriter

JSON = "io.confluent.connect.s3.format.json.JsonFormat"
PARQUET = "io.confluent.connect.s3.format.parquet.ParquetFormat"
BY_FIELD = "io.confluent.connect.storage.partitioner.FieldPartitioner"
HOURLY = "io.confluent.connect.storage.partitioner.HourlyPartitioner"
TP = TopicPartition("orders", 0)
ROW = s.struct({"n": s.INT64, "country": s.STRING})
WIDER = s.struct({"n": s.INT64, "country": s.STRING, "more": s.STRING.as_optional()})
CHUNK = BulkChunk("job", "orders-0-000000", is_stable=True)


def rows(start: int, stop: int, schema: s.Schema = ROW) -> Batch:
    values = [{"n": n, "country": ("DE", "FR")[n % 2], "more": None} for n in range(start, stop)]
    named = [{field.name: row[field.name] for field in schema.fields} for row in values]
    offsets = pa.array(range(start, stop), pa.int64())
    return Batch("orders", Column.from_rows(named, schema), partition=0, consumed=Consumed(TP, offsets, stop))


def writer(store: Store, ctx: FakeSinkContext | None = None, **settings: str) -> S3BulkWriter:
    given = {
        "s3.bucket.name": "bucket", "store.url": f"http://127.0.0.1:{store.server_port}", "flush.size": "3",
        "format.class": JSON, "aws.access.key.id": "a", "aws.secret.access.key": "b", "s3.part.retries": "0",
    }  # fmt: skip
    given |= {name.replace("_", "."): value for name, value in settings.items()}
    return S3BulkWriter(S3SinkConfig.parse(given), ctx or FakeSinkContext())


def soon() -> Deadline:
    return Deadline.after(60)


def numbers(store: Store) -> Counter[int]:
    return Counter(json.loads(line)["n"] for body, _ in store.objects.values() for line in body.splitlines())


def test_a_chunk_is_one_object_named_after_it_whatever_flush_size_says(store):
    written = writer(store).write(CHUNK, [rows(0, 10), rows(10, 20)], soon())
    assert store.keys == ["topics/orders/partition=0/job+orders-0-000000.json"]
    assert (written.rows, numbers(store)) == (20, Counter(range(20)))


def test_a_chunk_that_is_written_again_is_there_once_and_says_what_is_there(store):
    for _ in range(2):
        again = writer(store).write(CHUNK, [rows(0, 10)], soon())
    assert numbers(store) == Counter(range(10))
    assert again.rows == 10
    assert writer(store).rows_of([CHUNK, BulkChunk("job", "orders-0-000001", is_stable=True)], soon()) == {
        "orders-0-000000": 10, "orders-0-000001": 0,
    }  # fmt: skip


def test_a_try_that_ended_between_two_objects_is_completed_by_the_next(store):
    store.faults = ["", "503"]
    by_field = {"partitioner_class": BY_FIELD, "partition_field_name": "country"}
    first = writer(store, **by_field)
    with pytest.raises(RetriableError):
        first.write(CHUNK, [rows(0, 10)], soon())
    assert len(store.keys) == 1
    assert writer(store, **by_field).write(CHUNK, [rows(0, 10)], soon()).rows == 10
    assert numbers(store) == Counter(range(10))
    assert [key.split("/")[2] for key in store.keys] == ["country=DE", "country=FR"]


def test_what_compaction_removed_between_two_tries_leaves_the_object_as_it_is(store):
    writer(store).write(CHUNK, [rows(0, 10)], soon())
    assert writer(store).write(CHUNK, [rows(5, 10)], soon()).rows == 10
    assert numbers(store) == Counter(range(10))


def test_a_schema_that_changes_makes_a_second_object_and_what_does_not_fit_to_the_first_is_told(store):
    parquet = {"format_class": PARQUET}
    assert writer(store, **parquet).write(CHUNK, [rows(0, 4), rows(4, 9, WIDER)], soon()).rows == 9
    assert [key.rpartition("/")[2] for key in store.keys] == [
        "job+orders-0-000000+1.snappy.parquet", "job+orders-0-000000.snappy.parquet",
    ]  # fmt: skip
    assert writer(store, **parquet).rows_of([CHUNK], soon()) == {CHUNK.id: 9}
    with pytest.raises(ConnectError, match="removed between two tries"):
        writer(store, **parquet).write(CHUNK, [rows(4, 9, WIDER)], soon())


def test_an_object_of_somebody_else_is_never_taken_for_the_chunk(store):
    store.objects["/bucket/topics/orders/partition%3D0/job%2Borders-0-000000.json"] = (b"theirs", {})
    with pytest.raises(ConnectError, match="not written by this backfill"):
        writer(store).write(CHUNK, [rows(0, 1)], soon())


def test_rows_that_no_file_can_hold_are_rejected_and_the_others_written(store):
    ctx = FakeSinkContext()
    null = Batch("orders", Column.from_rows([None], ROW.as_optional()), partition=0,
                 consumed=Consumed(TP, pa.array([10], pa.int64()), 11))  # fmt: skip
    assert writer(store, ctx).write(CHUNK, [rows(0, 10), null], soon()).rows == 10
    assert len(ctx.rejected) == 1


def test_rows_without_a_chunk_write_nothing(store):
    assert writer(store).write(CHUNK, [], soon()).rows == 0
    assert store.keys == []


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"enable_conditional_writes": "false"}, "enable.conditional.writes"),
        ({"partitioner_class": HOURLY}, "timestamp.extractor"),
        ({"store_kafka_keys": "true"}, "store.kafka.keys"),
    ],
)
def test_settings_that_a_chunk_cannot_honour_are_refused(store, settings, key):
    with pytest.raises(ConfigError) as caught:
        writer(store, **settings)
    assert caught.value.problems[0].key == key


def test_rows_that_may_change_between_two_tries_need_one_place(store):
    by_field = writer(store, partitioner_class=BY_FIELD, partition_field_name="country")
    with pytest.raises(ConfigError, match="DefaultPartitioner"):
        by_field.write(BulkChunk("job", "c", is_stable=False), [rows(0, 1)], soon())
