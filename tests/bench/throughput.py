"""Rows per second and CPU of every data path, each job in a process of its own, beside its peer."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from connect.services import KafkaService, SeaweedS3Service
from connect.services.errors import ServiceError
from connect.services.registry import SchemaRegistryService
from tests.bench.java.java_peer import JavaPeer, build_plugins
from tests.bench.measure import Figure, entry

TRANSFORMS = "org.apache.kafka.connect.transforms"
INSERT_AND_RENAME = {
    "transforms": "insert,rename",
    "transforms.insert.type": f"{TRANSFORMS}.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.rename.type": f"{TRANSFORMS}.ReplaceField$Value",
    "transforms.rename.renames": "sku:article,customer:buyer",
}
AND_FILTER = {
    "transforms": "insert,rename,filter",
    "transforms.filter.type": f"{TRANSFORMS}.Filter",
    "transforms.filter.predicate": "tombstone",
    "predicates": "tombstone",
    "predicates.tombstone.type": f"{TRANSFORMS}.predicates.RecordIsTombstone",
}
BY_ROW = {
    "transforms": "function",
    "transforms.function.type": "connect.transforms.PythonFunction$Value",
    "transforms.function.function": "tests.bench.row_function:total",
    "transforms.function.fields": "total:float64",
}
PRODUCER = {
    "producer.override.linger.ms": "50",
    "producer.override.batch.size": "262144",
    "producer.override.compression.type": "lz4",
}
JSON_LINES = {"name": "sink-lines", "format.class": "io.confluent.connect.s3.format.json.JsonFormat"}
FROM_START = {"consumer.override.auto.offset.reset": "earliest"}
JAVA = "Java Kafka Connect 4.1"


@dataclass
class Bench:
    """What the jobs share."""

    kafka: KafkaService
    folder: Path
    rows: int
    say: Callable[[str], None]

    @property
    def base(self) -> dict[str, str]:
        return {"bootstrap": self.kafka.endpoint.bootstrap_servers, "rows": str(self.rows)}


def run(job: str, settings: dict[str, str]) -> Figure:
    """One job in a fresh process."""
    argv = [sys.executable, "-m", "tests.bench.jobs", job, json.dumps(settings)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{job} failed:\n{done.stderr[-3000:]}")
    return Figure(**json.loads(done.stdout.splitlines()[-1]))


def new_topic(kafka: KafkaService, name: str, partitions: int = 1) -> str:
    """A fresh topic."""
    from confluent_kafka.admin import AdminClient, NewTopic

    unique = f"{name}-{uuid.uuid4().hex[:6]}"
    admin = AdminClient({"bootstrap.servers": kafka.endpoint.bootstrap_servers})
    for made in admin.create_topics([NewTopic(unique, partitions, 1)]).values():
        made.result(30)
    return unique


def measure_throughput(bench: Bench) -> Iterator[dict]:
    """The rows of bench.json."""
    kafka = bench.kafka
    run("raw_produce", {**bench.base, "topic": new_topic(kafka, "warm-up"), "rows": "100000"})
    raw = run("raw_produce", {**bench.base, "topic": new_topic(kafka, "raw")})
    filled = new_topic(kafka, "memory")
    ours = run("memory_to_kafka", {**bench.base, "topic": filled})
    yield entry("in-memory source -> JSON -> Kafka", ours, "librdkafka produce(), ready bytes", raw)

    java_source, java_sink = _java(bench, filled)
    ours = run("memory_to_kafka", {**bench.base, **_with(AND_FILTER), "topic": new_topic(kafka, "smts")})
    yield entry("in-memory source -> 3 SMTs -> JSON, lz4", ours, JAVA, java_source, must=250_000)
    by_row = {"connector": json.dumps({**BY_ROW, **PRODUCER}), "topic": new_topic(kafka, "by-row")}
    ours = run("memory_to_kafka", {**bench.base, **by_row})
    yield entry("in-memory source -> Python function per row -> JSON, lz4", ours, None, None, must=130_000)
    yield _avro(bench)

    ours = run("kafka_to_null", {**bench.base, "topic": filled, "connector": json.dumps(INSERT_AND_RENAME)})
    yield entry("Kafka JSON -> 2 SMTs -> null sink", ours, JAVA, java_sink, must=250_000)
    yield from _files(bench, filled, java_sink)
    yield _sqlite(bench)


def _with(transforms: dict[str, str]) -> dict[str, str]:
    return {"connector": json.dumps({**INSERT_AND_RENAME, **transforms, **PRODUCER})}


def _java(bench: Bench, filled: str) -> tuple[Figure | None, Figure | None]:
    """The source with 3 SMTs and the null sink with 2, measured on the Java worker; None each without a JDK."""
    with _java_worker(bench) as java:
        if java is None:
            return None, None
        config = {**INSERT_AND_RENAME, **AND_FILTER, **PRODUCER}
        source = java.source(config, bench.rows, lambda: new_topic(bench.kafka, "java"))
        return source, java.null_sink({**INSERT_AND_RENAME, **FROM_START}, filled, bench.rows)


@contextmanager
def _java_worker(bench: Bench) -> Iterator[JavaPeer | None]:
    with ExitStack() as stack:
        java = None
        try:
            plugins = build_plugins(bench.folder)
            java = stack.enter_context(JavaPeer(bench.base["bootstrap"], plugins))
        except ServiceError as error:
            bench.say(f"{JAVA} is left out: {error}")
        yield java


def _avro(bench: Bench) -> dict:
    with SchemaRegistryService() as registry:
        converter = "io.confluent.connect.avro.AvroConverter"
        avro = {**bench.base, "registry": registry.endpoint.url, "converter": converter}
        ours = run("memory_to_kafka", {**avro, "topic": new_topic(bench.kafka, "avro")})
        peer = run("avro_serializer", {**avro, "topic": new_topic(bench.kafka, "avro-peer"), "rows": "100000"})
    bench.say(f"{JAVA} is left out of the Avro row: Confluent's AvroConverter is not on Maven Central.")
    name = "in-memory source -> Avro with registry"
    return entry(name, ours, "confluent-kafka AvroSerializer + produce()", peer, must=350_000)


def _files(bench: Bench, filled: str, java_sink: Figure | None) -> Iterator[dict]:
    with SeaweedS3Service() as s3:
        s3.create_bucket("bench")
        endpoint = s3.endpoint
        settings = {
            **bench.base, "topic": filled, "s3_url": endpoint.url, "bucket": "bench",
            "access_key_id": endpoint.access_key_id, "secret_access_key": endpoint.secret_access_key,
        }  # fmt: skip
        ours = run("kafka_to_s3", settings)
        lines = run("kafka_to_s3", {**settings, "connector": json.dumps(JSON_LINES)})
    raw = run("raw_consume", {**bench.base, "topic": filled})
    yield entry("Kafka JSON -> Parquet zstd in S3", ours, "librdkafka consume(), thrown away", raw, must=200_000)
    yield entry("Kafka JSON -> JSON lines in S3", lines, "librdkafka consume(), thrown away", raw)
    if java_sink is not None:
        name = f"{JAVA}, 2 SMTs -> null sink: it has no Parquet writer"
        yield entry("Kafka JSON -> Parquet zstd in S3, beside Java", ours, name, java_sink, must=200_000)


def _sqlite(bench: Bench) -> dict:
    # In a process of its own: a child's peak memory begins with that of its parent.
    database = str(bench.folder / "bench.db")
    run("make_database", {**bench.base, "database": database})
    topics = [new_topic(bench.kafka, name) for name in ("sqlite", "naive")]
    ours, naive = (
        run(job, {**bench.base, "topic": topic, "database": database})
        for job, topic in zip(("sqlite_to_kafka", "naive_sqlite"), topics, strict=True)
    )
    return entry("SQLite -> JSON -> Kafka", ours, "sqlite3 + json.dumps + produce()", naive)
