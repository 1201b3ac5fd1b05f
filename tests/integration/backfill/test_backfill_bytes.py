"""Checks that a backfilled record equals a streamed one: key, value, all headers but two, partition, schema id."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backfill_job import OneAfterTheOther, Table
from e2e_worker import WorkerProcess, wait_for

from connect.backfill.job.markers import HEADER_CHUNK, HEADER_JOB
from connect.backfill.job.states import JobState
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

ROWS = 300
REGISTERED = {
    "avro": "io.confluent.connect.avro.AvroConverter",
    "protobuf": "io.confluent.connect.protobuf.ProtobufConverter",
}
TRANSFORMS = {
    "transforms": "key,mask,route,from",
    "transforms.key.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.key.field": "id",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value", "transforms.mask.fields": "n",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "(.*)", "transforms.route.replacement": "$1-routed",
    "transforms.from.type": "org.apache.kafka.connect.transforms.InsertHeader",
    "transforms.from.header": "origin", "transforms.from.value.literal": "shop",
}  # fmt: skip


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-bytes")
    process.start()
    yield process
    process.stop()


@pytest.mark.parametrize("form", ["json", "avro", "protobuf", "transformed"])
def test_a_backfilled_record_is_the_streamed_one(table: Table, worker: WorkerProcess, form: str, request):
    table.fill(ROWS)
    settings = table.connector() | {"key.mode": "primary_key"}
    topic = table.topic
    if form == "transformed":
        settings |= TRANSFORMS
        topic = f"{table.topic}-routed"
    if form in REGISTERED:
        registry = request.getfixturevalue("registry")
        for side in ("key", "value"):
            settings |= {f"{side}.converter": REGISTERED[form], f"{side}.converter.schema.registry.url": registry.url}
        settings |= {"value.converter.optional.for.nullables": "true"}  # what Protobuf needs for a null
    assert worker.create(table.name, settings).status_code == 201
    worker.wait_for_tasks(table.name, "RUNNING")
    wait_for(lambda: len(table.records(topic)) == ROWS, 60, "the streamed rows")
    streamed = records(table, topic)
    assert worker.call("DELETE", table.name).status_code == 204
    admin = TopicAdmin({"bootstrap.servers": table.kafka.bootstrap_servers})
    admin.delete([topic], Deadline.after(30))
    wait_for(lambda: topic not in admin.topics(Deadline.after(10)), 30, "the topic is gone")

    with table.driver(settings) as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
    backfilled = records(table, topic)
    ours = {header for _, _, headers, _ in backfilled for header in headers if header[0].startswith("bf.")}
    assert {(HEADER_JOB, table.name.encode())} < ours
    assert len(streamed) == ROWS
    assert sorted(without_ours(backfilled), key=repr) == sorted(streamed, key=repr)


Record = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]


def records(table: Table, topic: str) -> list[Record]:
    return [(m.key(), m.value(), tuple(m.headers() or ()), m.partition()) for m in table.records(topic)]


def without_ours(found: list[Record]) -> list[Record]:
    names = {HEADER_JOB, HEADER_CHUNK}
    return [(key, value, tuple(h for h in headers if h[0] not in names), p) for key, value, headers, p in found]
