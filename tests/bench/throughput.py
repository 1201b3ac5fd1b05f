"""Rows per second and CPU of every data path, each job in a process of its own, beside its peer."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from connect.tools.services import KafkaService
from connect.tools.services.process.errors import ServiceError
from connect.tools.services.registry import SchemaRegistryService
from tests.bench.java.avro_converter import CLASS as AVRO_CONVERTER
from tests.bench.java.avro_converter import avro_converter
from tests.bench.java.java_peer import JavaPeer, build_plugins
from tests.bench.measure import Figure, entry
from tests.bench.s3_files import FROM_START

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
JAVA = "Java Kafka Connect 4.1"


@dataclass
class Bench:
    """What the jobs share. `rows`: what each of them moves; 0: as many as its part of the bench has by itself."""

    kafka: KafkaService
    folder: Path
    rows: int
    say: Callable[[str], None]
    java_s3_plugin: Path | None = None
    java_jdbc_plugin: Path | None = None
    connectors: int = 0
    java_connectors: int = 0

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


def drop_topic(kafka: KafkaService, name: str) -> None:
    """Tables of gigabytes that are moved a dozen times fill a disk."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": kafka.endpoint.bootstrap_servers})
    admin.delete_topics([name])[name].result(30)


def measure_throughput(bench: Bench) -> Iterator[dict]:
    """The rows of bench.json."""
    kafka = bench.kafka
    run("raw_produce", {**bench.base, "topic": new_topic(kafka, "warm-up"), "rows": "100000"})
    raw = run("raw_produce", {**bench.base, "topic": new_topic(kafka, "raw")})
    filled = new_topic(kafka, "memory")
    ours = run("memory_to_kafka", {**bench.base, "topic": filled})
    yield entry("in-memory source -> JSON -> Kafka", ours, "librdkafka produce(), ready bytes", raw)

    with SchemaRegistryService() as registry:
        java = _java(bench, filled, registry.endpoint.url)
        ours = run("memory_to_kafka", {**bench.base, **_with(AND_FILTER), "topic": new_topic(kafka, "smts")})
        name = "in-memory source -> 3 SMTs -> JSON, lz4"
        yield entry(name, ours, JAVA, java.get("source"), must=250_000, gate=3)
        by_row = {"connector": json.dumps({**BY_ROW, **PRODUCER}), "topic": new_topic(kafka, "by-row")}
        ours = run("memory_to_kafka", {**bench.base, **by_row})
        yield entry("in-memory source -> Python function per row -> JSON, lz4", ours, None, None, must=130_000)
        avro = {**bench.base, "registry": registry.endpoint.url, "converter": AVRO_CONVERTER}
        yield from _avro(bench, avro, new_topic(kafka, "avro"), java.get("avro"))

        ours = run("kafka_to_null", {**bench.base, "topic": filled, "connector": json.dumps(INSERT_AND_RENAME)})
        yield entry("Kafka JSON -> 2 SMTs -> null sink", ours, JAVA, java.get("sink"), must=250_000, gate=1.5)
    yield _sqlite(bench)


def _with(transforms: dict[str, str]) -> dict[str, str]:
    return {"connector": json.dumps({**INSERT_AND_RENAME, **transforms, **PRODUCER})}


def _java(bench: Bench, filled: str, registry_url: str) -> dict[str, Figure]:
    """The source with 3 SMTs, the source with Avro and the null sink with 2 SMTs, as far as they can be had."""
    with ExitStack() as stack:
        try:
            plugins = [build_plugins(bench.folder)]
            avro = {"value.converter": AVRO_CONVERTER, "value.converter.schema.registry.url": registry_url}
            try:
                plugins.append(avro_converter())
            except ServiceError as error:
                bench.say(f"{JAVA} is left out of the Avro row: {error}")
                avro = {}
            java = stack.enter_context(JavaPeer(bench.base["bootstrap"], plugins, bench.folder))
        except ServiceError as error:
            bench.say(f"{JAVA} is left out: {error}")
            return {}

        def topic() -> str:
            return new_topic(bench.kafka, "java")

        found = {"source": java.source({**INSERT_AND_RENAME, **AND_FILTER, **PRODUCER}, bench.rows, topic)}
        if avro:
            found["avro"] = java.source({**avro, **PRODUCER}, bench.rows, topic)
        found["sink"] = java.null_sink({**INSERT_AND_RENAME, **FROM_START}, filled, bench.rows)
    return found


def _avro(bench: Bench, avro: dict[str, str], filled: str, java: Figure | None) -> Iterator[dict]:
    name = "in-memory source -> Avro with registry"
    ours = run("memory_to_kafka", {**avro, "topic": filled})
    peer = run("avro_serializer", {**avro, "topic": new_topic(bench.kafka, "avro-peer"), "rows": "100000"})
    yield entry(name, ours, "confluent-kafka AvroSerializer + produce()", peer, must=350_000)
    if java is not None:
        topic = new_topic(bench.kafka, "avro-lz4")
        ours = run("memory_to_kafka", {**avro, "topic": topic, "connector": json.dumps(PRODUCER)})
        yield entry(f"{name}, lz4", ours, JAVA, java, must=350_000, gate=2)


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
