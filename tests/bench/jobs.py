"""The measured jobs, each run in a process of its own: `python -m tests.bench.jobs NAME '{"settings": ...}'`."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Consumer

from connect.api.allowed_paths import EVERYWHERE
from connect.api.plugin import PluginKind
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.host.agent import look_for_cycles_rarely
from connect.runtime.host.task_run import TaskRun
from connect.runtime.parts.clients import Clients
from connect.runtime.parts.task_parts import build_connector
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import AsksToWrite, MayWrite, StartTask, TaskState, TopicsUsed
from connect.runtime.task.state import State
from tests.bench import backfill_jobs, memory_source, null_sink, sql_jobs, sql_sink_jobs
from tests.bench.cassandra import cassandra_jobs
from tests.bench.cpu_profile import CpuProfile
from tests.bench.measure import Figure, as_dict, measure
from tests.bench.producing import new_producer, produce, produce_again
from tests.bench.rows import NAMES, plain_rows

LIMIT_S = 300.0
Settings = Mapping[str, str]


def _worker(settings: Settings) -> WorkerConfig:
    once = {"exactly.once.source.support": "enabled"} if settings.get("exactly_once") else {}
    return WorkerConfig.parse(
        {
            "bootstrap.servers": settings["bootstrap"], "group.id": "bench", "config.storage.topic": "bench-configs",
            "offset.storage.topic": "bench-offsets", "status.storage.topic": "bench-status",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false", "python.function.modules": "tests.bench", **EVERYWHERE, **once,
        }
    )  # fmt: skip


def _chosen(settings: Settings) -> dict[str, str]:
    """What a job's settings say of its connector."""
    names = {"registry": "value.converter.schema.registry.url", "converter": "value.converter"}
    required = {"exactly.once.support": "required"} if settings.get("exactly_once") else {}
    return {key: settings[name] for name, key in names.items() if name in settings} | required


def run_connector(
    settings: Settings, connector: dict[str, str], kind: str, rows: int | None, *, figure: str = "rows_total"
) -> Figure:
    """Run one task in this process until it has moved `rows` rows; None: until a line comes on standard input.

    `figure`: which metric of the task counts rows that are moved, of a sink that writes them some time after it took
    them. `settings` may name a `registry`, a `converter`, and with `exactly_once` have the rows sent in transactions.
    """
    worker = _worker(settings)
    connector = {**connector, **_chosen(settings)}
    # An agent is a source to its task.
    installed = [replace(p, kind=PluginKind.SOURCE) if p.kind is PluginKind.AGENT else p
                 for p in Catalog.installed().plugins()]  # fmt: skip
    catalog = Catalog([*installed, memory_source.PLUGIN, null_sink.PLUGIN])
    clients = Clients(worker, catalog)
    admin = TopicAdmin(admin_settings(worker.originals, {}, "bench").properties)
    admin.create("bench-offsets", partitions=5, configs={"cleanup.policy": "compact"}, deadline=Deadline.after(30.0))
    clients.offsets.of_worker(Deadline.after(30.0))
    ended = threading.Event()
    failures: list[str] = []

    def report(state: TaskState | TopicsUsed | AsksToWrite) -> None:
        match state:
            case AsksToWrite():
                run.may_write(MayWrite(state.connector, state.task, state.run))
            case TaskState(state=None | State.FAILED):
                failures.append(state.trace or "")
                ended.set()

    task = dict(build_connector(catalog, connector, worker.originals).task_configs(1)[0])
    run = TaskRun(StartTask(connector["name"], 0, 0, kind, connector, task), clients, report)

    def moved(least: int, name: str = "rows_total") -> int:
        limit_s = time.monotonic() + LIMIT_S
        while (total := int(run.figures.snapshot().get(name, 0))) < least and not ended.is_set():
            if time.monotonic() > limit_s:
                raise TimeoutError(f"{connector['name']}: {run.figures.snapshot()}")
            ended.wait(0.02)
        return total

    def work() -> int:
        profile.start()
        if rows is None:
            sys.stdin.readline()
        else:
            moved(rows, figure)
        spent.update(profile.read(max(1, moved(1) - before)))
        run.stop()
        ended.wait(60)
        if any(failures):
            raise RuntimeError(failures[0])
        return int(run.figures.snapshot()["rows_total"]) - before

    profile = CpuProfile()
    spent: dict[str, float] = {}
    run.figures._on_stage = profile.on_stage
    run.start()
    before = moved(1)  # what the start takes is no part of the rate, here as with the Java peer
    measured = replace(measure(work), profile=spent)
    clients.close()
    return measured


def memory_to_kafka(settings: Settings) -> Figure:
    rows = int(settings["rows"])
    connector = {
        "name": settings["topic"],
        "connector.class": "bench.MemorySource",
        "topic": settings["topic"],
        "rows": str(rows),
        **connector_settings(settings),
    }
    return run_connector(settings, connector, "source", rows)


def avro_serializer(settings: Settings) -> Figure:
    """The peer: confluent-kafka's AvroSerializer and produce for each row."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    from connect.convert.avro.from_connect import avro_of
    from connect.convert.avro.model import avro_text
    from connect.convert.avro.settings import AvroSettings
    from tests.bench.rows import SCHEMA, struct_array

    client = SchemaRegistryClient({"url": settings["registry"]})
    serialize = AvroSerializer(client, avro_text(avro_of(SCHEMA, AvroSettings())))
    context = SerializationContext(settings["topic"], MessageField.VALUE)
    rows, producer = struct_array(10_000).to_pylist(), new_producer(settings["bootstrap"])

    def work() -> int:
        sent = 0
        while sent < int(settings["rows"]):
            for row in rows:
                produce(producer, settings["topic"], serialize(row, context))
            producer.poll(0)
            sent += len(rows)
        producer.flush()
        return sent

    return measure(work)


def kafka_to_null(settings: Settings) -> Figure:
    connector = {
        "name": f"null-{settings['topic']}",
        "connector.class": "bench.NullSink",
        "topics": settings["topic"],
        **connector_settings(settings),
    }
    return run_connector(settings, connector, "sink", int(settings["rows"]))


def connector_settings(settings: Settings) -> dict[str, str]:
    """The part of a connector's configuration that its Java peer is given too."""
    return json.loads(settings.get("connector", "{}"))


def sqlite_to_kafka(settings: Settings) -> Figure:
    connector = {
        "name": settings["topic"], "connector.class": "JdbcSourceConnector", "mode": "incrementing",
        "connection.url": f"sqlite:///{settings['database']}", "table.whitelist": "rows",
        "incrementing.column.name": "id",
        "topic.prefix": f"{settings['topic']}-", "batch.max.rows": "10000", "poll.interval.ms": "100",
    }  # fmt: skip
    return run_connector(settings, connector, "source", int(settings["rows"]))


def source_to_kafka(settings: Settings) -> Figure:
    """A source connector as it is given, until it has moved `rows` rows. With `agent` in a process as an agent's."""
    if settings.get("agent"):
        look_for_cycles_rarely()
    return run_connector(settings, connector_settings(settings), "source", int(settings["rows"]))


def source_until_told(settings: Settings) -> Figure:
    """A source connector as it is given, until a line comes on standard input."""
    return run_connector(settings, connector_settings(settings), "source", None)


def kafka_to_s3(settings: Settings) -> Figure:
    connector = {
        "name": f"sink-{settings['topic']}", "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "topics": settings["topic"], "store.url": settings["s3_url"],
        "s3.bucket.name": settings["bucket"], "s3.region": "us-east-1", "aws.access.key.id": settings["access_key_id"],
        "aws.secret.access.key": settings["secret_access_key"], **connector_settings(settings),
    }  # fmt: skip
    return run_connector(settings, connector, "sink", int(settings["rows"]))


def kafka_to_bigquery(settings: Settings) -> Figure:
    """Until all rows are merged."""
    connector = {
        "name": f"bigquery-{settings['topic']}", "connector.class": "BigQuerySinkConnector",
        "topics": settings["topic"], "consumer.override.auto.offset.reset": "earliest", **connector_settings(settings),
    }  # fmt: skip
    return run_connector(settings, connector, "sink", int(settings["rows"]), figure="merged_rows_staged_total")


def raw_produce(settings: Settings) -> Figure:
    """The ceiling: ready bytes through librdkafka's Python API. `ids`: how many of the rows differ."""
    rows = plain_rows(int(settings.get("ids", 10_000)))
    values = [json.dumps(dict(zip(NAMES, row, strict=True))).encode() for row in rows]
    producer = new_producer(settings["bootstrap"])
    return measure(lambda: produce_again(producer, settings["topic"], values, int(settings["rows"])))


def raw_consume(settings: Settings) -> Figure:
    """The ceiling: messages taken and thrown away."""
    consumer = Consumer(
        {
            "bootstrap.servers": settings["bootstrap"],
            "group.id": f"raw-{time.time_ns()}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([settings["topic"]])

    def work() -> int:
        seen = len(first)
        while seen < int(settings["rows"]):
            seen += len(consumer.consume(10_000, 1.0))
        return seen

    first = consumer.consume(1, 30.0)
    figure = measure(work) if first else None
    consumer.close()
    if figure is None:
        raise TimeoutError("nothing to read")
    return figure


def naive_sqlite(settings: Settings) -> Figure:
    """The peer: cursor, json.dumps and produce for each row."""
    producer = new_producer(settings["bootstrap"])

    def work() -> int:
        sent = 0
        with sqlite3.connect(settings["database"]) as connection:
            for row in connection.execute("SELECT * FROM rows ORDER BY id"):
                produce(producer, settings["topic"], json.dumps(dict(zip(NAMES, row, strict=True))).encode())
                sent += 1
        producer.flush()
        return sent

    return measure(work)


def make_database(settings: Settings) -> Figure:
    """A SQLite table of the bench's rows."""
    path, rows = Path(settings["database"]), int(settings["rows"])

    def work() -> int:
        _fill(path, rows)
        return rows

    return measure(work)


def _fill(path: Path, rows: int) -> None:
    columns = ", ".join(["id INTEGER PRIMARY KEY", *(f"{n} {_sqlite_type(n)}" for n in NAMES[1:])])
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE rows ({columns})")
        connection.executemany(f"INSERT INTO rows VALUES ({','.join('?' * len(NAMES))})", plain_rows(rows, 1))


def _sqlite_type(name: str) -> str:
    kinds = {"price": "DOUBLE", "discount": "DOUBLE", "sku": "TEXT", "customer": "TEXT", "note": "TEXT"}
    return kinds.get(name, "BIGINT") + ("" if name == "note" else " NOT NULL")


def sql_to_kafka(settings: Settings) -> Figure:
    return run_connector(settings, sql_jobs.connector(settings), "source", int(settings["rows"]))


JOBS: dict[str, Callable[[Settings], Figure]] = {
    job.__name__: job
    for job in (
        memory_to_kafka,
        avro_serializer,
        kafka_to_null,
        sqlite_to_kafka,
        source_to_kafka,
        source_until_told,
        kafka_to_s3,
        kafka_to_bigquery,
        raw_produce,
        raw_consume,
        naive_sqlite,
        make_database,
        sql_to_kafka,
        cassandra_jobs.driver_scan,
        sql_jobs.make_sql_table,
        sql_jobs.naive_sql,
        sql_jobs.copy_out,
        sql_jobs.produce_ready,
        sql_sink_jobs.rows_into_table,
        sql_sink_jobs.executemany_into_table,
        backfill_jobs.backfill_spark,
        backfill_jobs.backfill_local,
        backfill_jobs.plain_spark,
    )
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(as_dict(JOBS[sys.argv[1]](json.loads(sys.argv[2])))) + "\n")
