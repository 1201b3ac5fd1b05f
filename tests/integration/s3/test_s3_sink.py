"""Checks the S3 sink against a real SeaweedFS."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from s3_sink_driver import Objects, batch, connector, open_task, properties, soon

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connect.tools.services import S3Endpoint, SeaweedS3Service

JSON = "io.confluent.connect.s3.format.json.JsonFormat"
BYTES = "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"
NUMBERS = s.struct({"n": s.INT64, "country": s.STRING.as_optional()})


@pytest.fixture
def tp(unique: str) -> TopicPartition:
    return TopicPartition(f"topic-{unique}", 1)


@pytest.fixture
def objects(s3: S3Endpoint, s3_bucket: str, unique: str) -> Objects:
    return Objects(s3, s3_bucket, unique)


def given(objects: Objects, **others: str) -> dict[str, str]:
    return properties(objects.endpoint, objects.bucket, objects.prefix, **others)


def numbers(tp: TopicPartition, start: int, stop: int) -> Batch:
    rows = [{"n": n, "country": ("DE", "FR", None)[n % 3]} for n in range(start, stop)]
    return batch(tp, rows, start, NUMBERS)


ALL_TYPES = s.struct({
    "i8": s.INT8, "i16": s.INT16, "i32": s.INT32, "i64": s.INT64, "f32": s.FLOAT32, "f64": s.FLOAT64,
    "flag": s.BOOLEAN, "text": s.STRING.as_optional(), "raw": s.BYTES, "price": s.decimal(2),
    "huge": s.decimal(0, precision=60), "day": s.DATE_SCHEMA, "at": s.TIME_SCHEMA, "moment": s.TIMESTAMP_SCHEMA,
    "tags": s.array(s.STRING.as_optional()), "counts": s.map_of(s.STRING, s.INT32),
    "inner": s.struct({"x": s.INT32.as_optional()}, optional=True),
})  # fmt: skip
ALL_VALUES = [
    {
        "i8": -128, "i16": 32767, "i32": -(2**31), "i64": 2**53 + 1, "f32": 1.5, "f64": -0.0, "flag": True,
        "text": "naïve 🜁", "raw": b"\x00\xff\n", "price": Decimal("-12345678901234567890.01"),
        "huge": Decimal(10**59 + 1), "day": date(1, 1, 1), "at": time(23, 59, 59, 999000),
        "moment": datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), "tags": ["a", None, ""],
        "counts": {"a": 1}, "inner": {"x": None},
    },
    {
        "i8": 0, "i16": 0, "i32": 0, "i64": -(2**63), "f32": 0.0, "f64": 5e-324, "flag": False, "text": None,
        "raw": b"", "price": Decimal("0.00"), "huge": Decimal(-1), "day": date(2024, 2, 29), "at": time(0),
        "moment": datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), "tags": [], "counts": {}, "inner": None,
    },
]  # fmt: skip


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_connect_type_reads_back_equal_from_parquet(objects, tp, codec):
    task = open_task(given(objects, flush_size="2", parquet_codec=codec))
    task.put(batch(tp, ALL_VALUES, 0, ALL_TYPES), soon())
    assert task.flush(soon()) == {tp: 2}
    extension = {"none": "", "gzip": ".gz"}.get(codec, f".{codec}")
    assert objects.names() == [f"{objects.prefix}/{tp.topic}/partition=1/{tp.topic}+1+0000000000{extension}.parquet"]
    read = objects.table(objects.names()[0]).to_pylist(maps_as_pydicts="strict")
    assert read == ALL_VALUES
    task.close()


def test_json_lines_are_the_json_converters_and_come_back_from_gzip(objects, tp):
    task = open_task(given(objects, flush_size="2", format_class=JSON, s3_compression_type="gzip"))
    task.put(batch(tp, [{"a": 1}, {"b": {"c": [None, 1.5, "é"]}}], 0), soon())
    task.put(batch(tp, ALL_VALUES, 2, ALL_TYPES), soon())
    assert task.flush(soon()) == {tp: 4}
    first, second = (gzip.decompress(objects.body(key)).splitlines() for key in objects.names())
    assert [json.loads(line) for line in first] == [{"a": 1}, {"b": {"c": [None, 1.5, "é"]}}]
    read = json.loads(second[0])
    assert (read["i64"], read["day"], read["at"], read["moment"]) == (2**53 + 1, -719162, 86399999, 253402300799999)
    assert (read["raw"], read["counts"], read["inner"]) == ("AP8K", {"a": 1}, {"x": None})
    task.close()


def test_bytes_are_written_as_they_are(objects, tp):
    task = open_task(given(objects, flush_size="3", format_class=BYTES))
    task.put(batch(tp, [b"one", b"", b"\x00\n"], 0, s.BYTES), soon())
    task.flush(soon())
    assert [objects.body(key) for key in objects.names()] == [b"one\n\n\x00\n\n"]
    assert objects.names()[0].endswith("+0000000000.bin")
    task.close()


def test_an_object_tells_which_rows_it_holds(objects, tp):
    task = open_task(given(objects, flush_size="3"))
    task.put(numbers(tp, 5, 8), soon())
    task.flush(soon())
    assert objects.metadata(objects.names()[0]) == {
        "kconnect-topic": tp.topic, "kconnect-partition": "1", "kconnect-start-offset": "5",
        "kconnect-last-offset": "7", "kconnect-end-offset": "8", "kconnect-rows": "3",
        "kconnect-begin-offset": "5", "kconnect-connector": "under-test",
        "kconnect-start-timestamp": "1700000000005", "kconnect-topic-id": tp.topic,
    }  # fmt: skip
    task.close()


def test_objects_are_tagged_as_confluents_are(objects, tp):
    task = open_task(
        given(objects, flush_size="3", s3_object_tagging="true", s3_object_tagging_key_value_pairs="team:lake,cost:7")
    )
    task.put(numbers(tp, 5, 8), soon())
    task.flush(soon())
    task.close()
    (key,) = objects.names()
    tags = objects.client.get_object_tagging(Bucket=objects.bucket, Key=key)["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {
        "team": "lake", "cost": "7", "startOffset": "5", "endOffset": "7", "recordCount": "3",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_crashes_and_replays_with_other_cuts_and_clocks_leave_each_row_once(objects, tp, seed):
    chance = random.Random(seed)
    config = given(
        objects, flush_size="37", rotate_schedule_interval_ms="1000", parquet_codec="zstd",
        partitioner_class="io.confluent.connect.storage.partitioner.FieldPartitioner", partition_field_name="country",
    )  # fmt: skip
    clock = [0]
    committed = 0
    while committed < 300:
        task = open_task(config, now_ms=lambda: clock[0])
        position = committed
        for _ in range(chance.randint(1, 8)):
            stop = min(300, position + chance.randint(1, 40))
            task.put(numbers(tp, position, stop), soon())
            position = stop
            clock[0] += chance.randint(0, 600)
        flushed = task.flush(soon()).get(tp, committed)
        committed = chance.choice([committed, flushed])  # the worker dies before or after the commit
        task.close()
    assert sorted(objects.column("n")) == list(range(300))
    assert {key.split("/")[2] for key in objects.names()} == {
        "country=DE", "country=FR", "country=__HIVE_DEFAULT_PARTITION__",
    }  # fmt: skip


def test_of_two_tasks_with_the_same_start_the_first_wins_and_the_second_goes_on_behind_it(objects, tp):
    clock = [0]
    config = given(objects, rotate_schedule_interval_ms="1000")
    old, new = (open_task(config, now_ms=lambda: clock[0]) for _ in range(2))
    old.put(numbers(tp, 0, 10), soon())
    new.put(numbers(tp, 0, 25), soon())
    clock[0] = 1000
    assert old.flush(soon()) == {tp: 10}
    assert new.flush(soon()) == {tp: 25}
    old.put(numbers(tp, 10, 40), soon())
    clock[0] = 2000
    assert old.flush(soon()) == {tp: 40}
    assert objects.column("n") == list(range(40))
    starts = [objects.metadata(key)["kconnect-start-offset"] for key in objects.names()]
    assert starts == ["0", "10", "25"]
    for task in (old, new):
        task.close()


def test_the_clock_does_not_end_files_between_batches_of_one_poll(objects, tp):
    clock = [0]
    task = open_task(given(objects, rotate_schedule_interval_ms="1000"), now_ms=lambda: clock[0])
    whole = numbers(tp, 0, 6)
    task.put(replace(whole.take([0, 2, 4]), topic="even"), soon())
    clock[0] = 1000
    task.put(replace(whole.take([1, 3, 5]), topic="odd"), soon())
    clock[0] = 2000
    assert task.flush(soon()) == {tp: 6}
    assert sorted(objects.column("n")) == list(range(6))
    assert [key.split("/")[1] for key in objects.names()] == ["even", "odd"]
    task.close()


def test_a_topic_that_goes_quiet_is_written_when_it_was_idle_for_long_enough(objects, tp):
    clock = [0]
    task = open_task(given(objects, rotate_idle_ms="5000"), now_ms=lambda: clock[0])
    task.put(numbers(tp, 0, 3), soon())
    clock[0] = 4999
    assert task.flush(soon()) == {}
    clock[0] = 5000
    assert task.flush(soon()) == {tp: 3}
    task.close()


def test_a_foreign_object_under_the_key_is_named_and_left_alone(objects, tp):
    key = f"{objects.prefix}/{tp.topic}/partition=1/{tp.topic}+1+0000000000.snappy.parquet"
    objects.client.put_object(Bucket=objects.bucket, Key=key, Body=b"mine")
    task = open_task(given(objects, flush_size="1"))
    with pytest.raises(ConnectError, match="is there already and was not written by this sink") as raised:
        task.put(numbers(tp, 0, 1), soon())
    assert f"s3://{objects.bucket}/{key}" in str(raised.value)
    assert objects.body(key) == b"mine"
    task.close()


def test_null_values_are_rejected_or_left_out(objects, tp):
    values = [{"n": 0, "country": None}, None, {"n": 2, "country": None}, None]
    task = open_task(given(objects, flush_size="2"))
    with pytest.raises(RejectedRowsError, match=r"behavior\.on\.null\.values=ignore") as raised:
        task.put(batch(tp, values, 0, NUMBERS.as_optional()), soon())
    assert set(raised.value.rows) == {1, 3}
    assert task.flush(soon()) == {tp: 4}
    assert objects.column("n") == [0, 2]
    task.close()
    task = open_task(
        given(objects, topics_dir=f"{objects.prefix}/ignoring", flush_size="2", behavior_on_null_values="ignore")
    )
    task.put(batch(tp, values, 0, NUMBERS.as_optional()), soon())
    assert task.flush(soon()) == {tp: 4}
    task.close()


def test_schemaless_batches_that_differ_widen_one_file(objects, tp):
    task = open_task(given(objects, flush_size="4", parquet_codec="none"))
    task.put(batch(tp, [{"n": 1, "x": None}], 0), soon())
    task.put(batch(tp, [{"n": 2, "x": {"deep": 1}, "new": "a"}], 1), soon())
    task.put(batch(tp, [{"n": 2.5, "x": {"deep": 2, "more": True}}, {"x": None}], 2), soon())
    assert task.flush(soon()) == {tp: 4}
    (key,) = objects.names()
    assert objects.table(key).to_pylist() == [
        {"n": 1.0, "x": None, "new": None},
        {"n": 2.0, "x": {"deep": 1, "more": None}, "new": "a"},
        {"n": 2.5, "x": {"deep": 2, "more": True}, "new": None},
        {"n": None, "x": None, "new": None},
    ]
    task.close()


def test_a_store_that_is_away_for_a_while_costs_no_row_and_no_double(unique):
    with SeaweedS3Service() as service:
        service.create_bucket("away-bucket")
        objects = Objects(service.endpoint, "away-bucket", unique)
        tp = TopicPartition("away", 0)
        task = open_task(properties(service.endpoint, "away-bucket", unique, flush_size="10"))
        task.put(numbers(tp, 0, 15), soon())
        assert task.flush(soon()) == {tp: 10}
        service.kill()
        task.put(numbers(tp, 15, 25), soon())
        with pytest.raises(RetriableError, match="Bucket away-bucket"):
            task.flush(soon())
        with pytest.raises(RetriableError):
            task.put(numbers(tp, 25, 40), Deadline.after(2))
        service.start()
        task.put(numbers(tp, 25, 40), soon())
        assert task.flush(soon()) == {tp: 40}
        assert objects.column("n") == list(range(40))
        task.close()


def test_check_is_content_with_a_good_store_and_leaves_nothing_behind(objects):
    connector(given(objects)).check(soon())
    assert objects.names() == []


def test_check_names_the_bucket_that_is_missing(objects):
    with pytest.raises(ConfigError, match=r"Bucket no-such-bucket at http.* does not exist") as raised:
        connector({**given(objects), "s3.bucket.name": "no-such-bucket"}).check(soon())
    assert raised.value.key == "s3.bucket.name"


def test_wrong_credentials_are_named_without_the_secret(objects):
    config = {**given(objects), "aws.secret.access.key": "canary-secret-5ab1"}
    with pytest.raises(ConfigError, match="refused access") as raised:
        connector(config).check(soon())
    assert raised.value.key == "aws.access.key.id"
    assert "canary-secret-5ab1" not in repr(raised.value) + str(raised.value)
    task = open_task(given(objects, aws_secret_access_key="canary-secret-5ab1", flush_size="1"))
    with pytest.raises(ConfigError, match="refused access"):
        task.put(numbers(TopicPartition("t", 0), 0, 1), soon())
    task.close()


def test_a_store_that_is_not_there_is_retriable(objects):
    with pytest.raises(RetriableError, match="not reachable"):
        connector({**given(objects), "store.url": "http://127.0.0.1:9"}).check(soon())
