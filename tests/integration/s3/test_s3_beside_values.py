"""Checks keys, headers, tombstones, canned ACLs and Aiven's sink against a real SeaweedFS."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import defaultdict
from collections.abc import Mapping

import fastavro
import pytest
from s3_sink_driver import Objects, batch, open_task, properties, soon

from connect.api import schema as s
from connect.api.records import Batch, Column, Header, TopicPartition
from connect.convert.avro.values import avro_values
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import S3Endpoint
from connectors.s3.aiven.config import AivenS3SinkConfig
from connectors.s3.aiven.sink import AivenSinkConnector

JSON = "io.confluent.connect.s3.format.json.JsonFormat"
ROW = s.struct({"n": s.INT64, "country": s.STRING}).as_optional()
STORED = {
    "format_class": JSON, "store_kafka_keys": "true", "keys_format_class": JSON, "store_kafka_headers": "true",
    "headers_format_class": JSON, "behavior_on_null_values": "write", "flush_size": "37",
    "partitioner_class": "io.confluent.connect.storage.partitioner.FieldPartitioner", "partition_field_name": "country",
}  # fmt: skip


@pytest.fixture
def tp(unique: str) -> TopicPartition:
    return TopicPartition(f"topic-{unique}", 0)


@pytest.fixture
def objects(s3: S3Endpoint, s3_bucket: str, unique: str) -> Objects:
    return Objects(s3, s3_bucket, unique)


def given(objects: Objects, **others: str) -> dict[str, str]:
    return properties(objects.endpoint, objects.bucket, objects.prefix, **others)


def is_tombstone(number: int) -> bool:
    return number % 7 == 3


def numbers(tp: TopicPartition, start: int, stop: int) -> Batch:
    rows = [None if is_tombstone(n) else {"n": n, "country": ("DE", "FR")[n % 2]} for n in range(start, stop)]
    made = batch(tp, rows, start, ROW)
    keys = Column.from_rows(list(range(start, stop)), s.INT64)
    headers = [[Header("n", n)] for n in range(start, stop)]
    return Batch(
        made.topic, made.values, keys=keys, headers=headers, timestamps_ms=made.timestamps_ms, partition=0,
        consumed=made.consumed,
    )  # fmt: skip


def lines(body: bytes) -> list:
    return [json.loads(line) for line in body.splitlines()]


def strands(objects: Objects) -> Mapping[str, dict[str, list]]:
    """By what the objects of one file have in common: the rows of each of them."""
    found: dict[str, dict[str, list]] = defaultdict(dict)
    for key in objects.names():
        stem, _, ending = key.partition(".")
        found[stem][ending.removesuffix(".json") if ending != "json" else "values"] = lines(objects.body(key))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_crashes_between_the_objects_of_a_file_leave_none_that_do_not_match(objects, tp, seed):
    chance, clock, committed, zombies = random.Random(seed), [0], 0, []
    config = given(objects, rotate_schedule_interval_ms="1000", **STORED)
    while committed < 300:
        task = open_task(config, now_ms=lambda: clock[0])
        position = committed
        for _ in range(chance.randint(1, 6)):
            stop = min(300, position + chance.randint(1, 60))
            task.put(numbers(tp, position, stop), soon())
            position, clock[0] = stop, clock[0] + chance.randint(0, 600)
        if chance.random() < 0.4:
            zombies.append(task)  # an owner that wakes up when others have gone on
            continue
        committed = chance.choice([committed, task.flush(soon()).get(tp, committed)])
        task.close()
        if zombies and chance.random() < 0.7:
            zombie = zombies.pop()
            zombie.flush(soon())
            zombie.close()
    for zombie in zombies:
        zombie.flush(soon())
        zombie.close()
    written = []
    for stem, own in strands(objects).items():
        if "/tombstone/" in stem:
            assert set(own) == {"keys", "headers"}
            assert all(map(is_tombstone, own["keys"]))
        else:
            assert set(own) == {"keys", "headers", "values"}
            assert [row["n"] for row in own["values"]] == own["keys"]
        assert own["headers"] == [[{"key": "n", "value": str(n)}] for n in own["keys"]]
        written.extend(own["keys"])
    assert sorted(written) == list(range(300))


def test_a_canned_acl_and_tags_go_with_the_object(objects, tp):
    config = given(objects, flush_size="3", s3_acl_canned="bucket-owner-full-control", s3_object_tagging="true")
    for _ in range(2):
        task = open_task(config)
        task.put(batch(tp, [{"n": n} for n in range(3)], 0), soon())
        assert task.flush(soon()) == {tp: 3}
        task.close()
    (key,) = objects.names()
    assert objects.metadata(key)["kconnect-rows"] == "3"
    tags = objects.client.get_object_tagging(Bucket=objects.bucket, Key=key)["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"startOffset": "0", "endOffset": "2", "recordCount": "3"}


@pytest.mark.parametrize("kind", ["jsonl", "avro"])
def test_aivens_sink_writes_each_row_once_whatever_dies(objects, tp, kind):
    config = AivenS3SinkConfig.parse({
        "aws.s3.bucket.name": objects.bucket, "aws.s3.endpoint": objects.endpoint.url,
        "aws.s3.region": objects.endpoint.region, "aws.access.key.id": objects.endpoint.access_key_id,
        "aws.secret.access.key": objects.endpoint.secret_access_key, "file.max.records": "25",
        "format.output.type": kind, "format.output.fields": "value,offset", "file.compression.type": "gzip",
        "file.name.template": f"{objects.prefix}/{{{{topic}}}}/{{{{partition}}}}-{{{{start_offset:padding=true}}}}.x",
    })  # fmt: skip
    chance, committed = random.Random(kind), 0
    while committed < 200:
        task = AivenSinkConnector(config).task(config.originals)
        task.open(FakeSinkContext(avro_values=avro_values))
        position = committed
        for _ in range(chance.randint(1, 5)):
            stop = min(200, position + chance.randint(1, 40))
            schema = s.struct({"n": s.INT64})
            task.put(batch(tp, [{"n": n} for n in range(position, stop)], position, schema), soon())
            position = stop
        committed = chance.choice([committed, task.flush(soon()).get(tp, committed)])
        task.close()
    rows = []
    for key in objects.names():
        body = objects.body(key)
        rows += lines(gzip.decompress(body)) if kind == "jsonl" else list(fastavro.reader(io.BytesIO(body)))
    assert sorted(row["value"]["n"] for row in rows) == list(range(200))
    assert all(row["value"]["n"] == row["offset"] for row in rows)
