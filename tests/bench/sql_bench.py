"""Measures PostgreSQL and MariaDB to Kafka: the connector beside a loop over the driver's cursor, and beside COPY."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from functools import partial

from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.errors import ServiceError
from connect.tools.services.registry import SchemaRegistryService
from tests.bench.java.java_jdbc import java_entries
from tests.bench.measure import RUNS, Figure, entry, in_all
from tests.bench.server_cpu import ServerCpu, compilers_cpu_s
from tests.bench.sql_jobs import TABLE
from tests.bench.throughput import Bench, drop_topic, new_topic, run

SERVERS = {"postgresql": (PostgresService, "PostgreSQL"), "mariadb": (MariaDbService, "MariaDB")}
MUST = {"postgresql": 250_000, "mariadb": 220_000}
MUST_AVRO = 280_000
ONCE_GATE = 0.95
"""The share of the rows per second that transactions leave."""
WARM_UPS_AT_MOST, WARM_SHARE = 5, 0.05
"""A broker is warm when compiling takes less than this share of its CPU time."""
WARM_TURNS, TURNS = 1, 6
BUFFERS_MIB = 3072
"""For the pages of tables, all of which have room: a server's memory, where the embedded ones have that of a test."""
SINK_ROWS = 200_000
NAIVE_ROWS = 400_000
"""What the slow peer moves of the table: its rate is the same from the first row on."""


def measure_sql(bench: Bench) -> Iterator[dict]:
    """The rows of bench.json for SQL servers that are installed."""
    for dialect, name, server, settings in _servers(bench):
        yield from _entries(bench, dialect, name, server, settings)


def measure_exactly_once(bench: Bench) -> Iterator[dict]:
    """What transactions cost: the same table moved exactly once and at least once, in turn."""
    for dialect, name, _, settings in _servers(bench):
        once, least = _in_turn(bench, f"{dialect}-turns", settings, {"exactly_once": "yes"}, {})
        yield entry(
            f"{name} -> JSON -> Kafka, exactly once", once, "the same at least once, in turn", least,
            rate_gate=ONCE_GATE,
        )  # fmt: skip


def _servers(bench: Bench) -> Iterator[tuple[str, str, PostgresService | MariaDbService, dict[str, str]]]:
    """Each server that is installed, with the table in it, while it runs: dialect, name, and settings of jobs."""
    for dialect, (service, name) in SERVERS.items():
        try:
            server = service(buffers_mib=BUFFERS_MIB)
            server.prepare()
        except ServiceError as error:
            bench.say(f"{name} is left out: {error}")
            continue
        with server:
            e = server.endpoint
            settings = {
                **bench.base, "dialect": dialect, "host": e.host, "port": str(e.port), "user": e.user,
                "password": e.password, "database": e.database,
            }  # fmt: skip
            run("make_sql_table", settings)
            yield dialect, name, server, settings


def _entries(
    bench: Bench, dialect: str, name: str, server: PostgresService | MariaDbService, settings: dict[str, str]
) -> Iterator[dict]:
    moved = partial(_moved, bench, server, settings)
    peer = "driver cursor + json.dumps + produce()"
    ours, servers = moved(dialect)
    some = str(min(bench.rows, NAIVE_ROWS))
    naive = _fastest(bench, "naive_sql", {**settings, "rows": some})
    yield entry(f"{name} -> JSON -> Kafka, 940 bytes a row", ours, peer, naive, must=MUST[dialect]) | servers
    lz4 = {"connector": json.dumps({"producer.override.compression.type": "lz4"})}
    ours_lz4, servers = moved(f"{dialect}-lz4", **lz4)
    yield entry(f"{name} -> JSON -> Kafka, lz4", ours_lz4, "the same, not compressed", ours) | servers
    formats = {"JSON": ours}
    if dialect == "postgresql":
        with SchemaRegistryService() as registry:
            converter = "io.confluent.connect.avro.AvroConverter"
            avro, servers = moved(f"{dialect}-avro", registry=registry.endpoint.url, converter=converter)
        formats["Avro"] = avro
        yield entry(f"{name} -> Avro -> Kafka", avro, peer, naive, must=MUST_AVRO) | servers
        copied = _fastest(bench, "copy_out", settings)
        yield entry(f"{name} -> JSON -> Kafka, beside a ceiling", ours, "COPY out, thrown away", copied)
        ready = _fastest(bench, "produce_ready", settings)
        yield entry(f"{name} -> JSON -> Kafka, beside a ceiling", ours, "librdkafka produce(), ready bytes", ready)
    yield from _into_tables(name, settings)
    yield from java_entries(bench, name, server, settings, formats)


def _into_tables(name: str, settings: dict[str, str]) -> Iterator[dict]:
    """The JDBC sink, without Kafka: what writing costs."""
    wanted = {**settings, "rows": str(SINK_ROWS)}

    def fastest(job: str, **more: str) -> Figure:
        figures = [run(job, {**wanted, **more, "number": str(number)}) for number in range(RUNS)]
        return max(figures, key=lambda figure: figure.rows_per_s)

    peer = fastest("executemany_into_table")
    for mode in ("insert", "upsert"):
        ours = fastest("rows_into_table", mode=mode)
        yield entry(f"columns -> {name} by the JDBC sink, {mode}", ours, "SQLAlchemy's executemany, insert", peer)


def _fastest(bench: Bench, job: str, settings: dict[str, str]) -> Figure:
    figures = []
    for _ in range(RUNS):
        topic = new_topic(bench.kafka, job)
        figures.append(run(job, {**settings, "topic": topic}))
        drop_topic(bench.kafka, topic)
    return max(figures, key=lambda figure: figure.rows_per_s)


def _in_turn(bench: Bench, topic: str, settings: dict[str, str], *ways: dict[str, str]) -> list[Figure]:
    """The table moved in each of these ways, one after the other: all rows over all seconds of each.

    Single runs differ by a fifth with nothing changed, so the fastest of a few would be the luckiest. The first turn
    warms the broker up and does not count, and each turn begins with another way than the one before.
    """
    done: list[list[Figure]] = [[] for _ in ways]
    order = list(enumerate(ways))
    for turn in range(WARM_TURNS + TURNS):
        for i, way in order[turn % len(order) :] + order[: turn % len(order)]:
            name = f"{topic}-{uuid.uuid4().hex[:6]}"
            figure = run("sql_to_kafka", {**settings, **way, "topic": name})
            drop_topic(bench.kafka, f"{name}-{TABLE}")
            if turn >= WARM_TURNS:
                done[i].append(figure)
        if turn >= WARM_TURNS:
            bench.say(f"{topic}: " + " and ".join(f"{figures[-1].rows_per_s:,.0f}" for figures in done) + " rows/s")
    return [in_all(figures) for figures in done]


def _moved(
    bench: Bench, server: PostgresService | MariaDbService, settings: dict[str, str], topic: str, **more: str
) -> tuple[Figure, dict[str, object]]:
    """The table moved, and what the servers spent on it, in CPU seconds per million rows: the fastest of `RUNS`.

    The first of them is the one in which the broker is done compiling itself on the cores that are measured, which each
    format and compression begins anew.
    """
    done: list[tuple[Figure, dict[str, float]]] = []
    for tries in range(WARM_UPS_AT_MOST + RUNS):
        compiled_s = compilers_cpu_s(bench.kafka.pid)
        servers = ServerCpu({"broker": bench.kafka.pid, "database": server.pid})
        name = f"{topic}-{uuid.uuid4().hex[:6]}"
        figure = run("sql_to_kafka", {**settings, **more, "topic": name})
        spent_s = servers.read()
        drop_topic(bench.kafka, f"{name}-{TABLE}")
        is_warm = compilers_cpu_s(bench.kafka.pid) - compiled_s < WARM_SHARE * spent_s["broker"]
        if done or is_warm or tries == WARM_UPS_AT_MOST:
            spent = {name: cpu_s / figure.rows * 1e6 for name, cpu_s in spent_s.items()}
            _tell(bench, topic, figure, spent)
            done.append((figure, spent))
        if len(done) == RUNS:
            break
    figure, spent = max(done, key=lambda one: one[0].rows_per_s)
    return figure, {"servers_cpu_s_per_mrow": spent}


def _tell(bench: Bench, topic: str, figure: Figure, spent: dict[str, float]) -> None:
    parts = {"worker": figure.cpu_s_per_mrow, **spent}
    every = sum(parts.values())
    bench.say(
        f"{topic}: {figure.rows_per_s:,.0f} rows/s; "
        + " + ".join(f"{name} {cpu_s:.2f}" for name, cpu_s in parts.items())
        + f" = {every:.2f} cpu s per million rows, {1e6 / every:,.0f} rows/s for each core that they have to themselves"
    )
