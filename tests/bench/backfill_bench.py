"""Measures how fast a table of PostgreSQL gets into Kafka in bulk: ours on Spark and on processes beside plain Spark,
one after the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack

from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.errors import ServiceError
from connect.tools.services.registry import SchemaRegistryService
from tests.bench.backfill_jobs import PARTITIONS
from tests.bench.measure import Figure, entry
from tests.bench.server_cpu import ServerCpu
from tests.bench.sql_jobs import TABLE
from tests.bench.throughput import Bench, drop_topic, new_topic, run

GATES = {
    "Spark": ("backfill_spark", {"rate_gate": 1.25, "gate": 1.8}),
    "processes": ("backfill_local", {"rate_gate": 1.5, "gate": 2.2}),
}
"""By engine the job, the least times of the peer's rows per second, and of its CPU per row over ours, on two cores that
broker and database share."""
PEER = "plain Spark: JDBC -> Kafka sink, at least once"
BUFFERS_MIB = 2048
ROWS = 1_000_000
_JARS = (
    Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.0.0", transitive=False),
    Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", transitive=False),
    Artifact("org.apache.spark", "spark-avro_2.13", "4.0.0", transitive=False),
    Artifact("org.apache.kafka", "kafka-clients", "3.9.0", transitive=False),
    Artifact("org.apache.commons", "commons-pool2", "2.12.0", transitive=False),
    Artifact("org.postgresql", "postgresql", "42.7.3", transitive=False),
)


def measure_backfill(bench: Bench) -> Iterator[dict]:
    """The rows of bench-backfill.json, where PostgreSQL is installed."""
    try:
        server = PostgresService(buffers_mib=BUFFERS_MIB)
        server.prepare()
        jars = fetch("plain-spark-4.0.0", _JARS)
    except ServiceError as error:
        bench.say(f"Backfills are left out: {error}")
        return
    with ExitStack() as stack:
        stack.enter_context(server)
        e = server.endpoint
        settings = {
            **bench.base, "dialect": "postgresql", "host": e.host, "port": str(e.port), "user": e.user,
            "password": e.password, "database": e.database,
            "jars": ",".join(str(jars / artifact.file_name) for artifact in _JARS),
        }  # fmt: skip
        run("make_sql_table", settings)
        yield from _entries(bench, server, settings, "JSON")
        registry = stack.enter_context(SchemaRegistryService())
        yield from _entries(bench, server, settings | {"format": "avro", "registry": registry.endpoint.url}, "Avro")


def _entries(bench: Bench, server: PostgresService, settings: dict[str, str], form: str) -> Iterator[dict]:
    topic = new_topic(bench.kafka, "plain-spark", PARTITIONS)
    peer, _ = _measured(bench, server, "plain_spark", {**settings, "topic": topic})
    drop_topic(bench.kafka, topic)
    for engine, (job, gates) in GATES.items():
        name = f"bf-{uuid.uuid4().hex[:6]}"
        ours, servers = _measured(bench, server, job, {**settings, "topic": name})
        drop_topic(bench.kafka, f"{name}-{TABLE}")
        title = f"backfill, PostgreSQL -> {form} -> Kafka, exactly once, by {engine}"
        yield entry(title, ours, PEER, peer, **gates) | {"servers_cpu_s_per_mrow": servers}


def _measured(
    bench: Bench, server: PostgresService, job: str, settings: dict[str, str]
) -> tuple[Figure, dict[str, float]]:
    """A job, and what the servers spent on it, in CPU seconds per million rows."""
    servers = ServerCpu({"broker": bench.kafka.pid, "database": server.pid})
    figure = run(job, settings)
    spent = {name: cpu_s / figure.rows * 1e6 for name, cpu_s in servers.read().items()}
    parts = {"job": figure.cpu_s_per_mrow, **spent}
    told = " + ".join(f"{name} {cpu_s:.2f}" for name, cpu_s in parts.items())
    start = f"; Spark was up after {figure.start_s:.1f} s" if figure.start_s else ""
    start += f"; first chunk after {figure.first_s:.1f} s" if figure.first_s else ""
    start += f"; a lane had {figure.child_mb:.0f} MB" if figure.child_mb and not figure.start_s else ""
    start += f"; a plan now tells {figure.told_s:.1f} s" if figure.told_s else ""
    bench.say(
        f"{job}, {settings.get('format', 'json')}: {figure.rows_per_s:,.0f} rows/s in {figure.wall_s:.1f} s; {told} = "
        f"{sum(parts.values()):.2f} cpu s per million rows{start}"
    )
    return figure, spent
