"""PostgreSQL and MariaDB to Kafka: the connector beside a loop over the driver's cursor, and beside COPY."""

from __future__ import annotations

import json
from collections.abc import Iterator

from connect.services.errors import ServiceError
from connect.services.mariadb import MariaDbService
from connect.services.postgres import PostgresService
from connect.services.registry import SchemaRegistryService
from tests.bench.measure import Figure, entry
from tests.bench.throughput import JAVA, Bench, new_topic, run

SERVERS = {"postgresql": (PostgresService, "PostgreSQL"), "mariadb": (MariaDbService, "MariaDB")}
MUST = {"postgresql": 250_000, "mariadb": 220_000}
MUST_AVRO = 280_000


def measure_sql(bench: Bench) -> Iterator[dict]:
    """The rows of bench.json for SQL servers that are installed."""
    for _ in range(2):
        # A broker that was just started compiles itself on the cores that are measured.
        produced = run("raw_produce", {**bench.base, "topic": new_topic(bench.kafka, "warm-up")})
    bench.say(f"{JAVA} is left out of SQL servers: no JDBC connector for it is on Maven Central.")
    for dialect, (service, name) in SERVERS.items():
        try:
            server = service()
            server.prepare()
        except ServiceError as error:
            bench.say(f"{name} is left out: {error}")
            continue
        with server:
            yield from _entries(bench, dialect, name, server, produced)


def _entries(
    bench: Bench, dialect: str, name: str, server: PostgresService | MariaDbService, produced: Figure
) -> Iterator[dict]:
    e = server.endpoint
    settings = {
        **bench.base, "dialect": dialect, "host": e.host, "port": str(e.port), "user": e.user, "password": e.password,
        "database": e.database,
    }  # fmt: skip
    run("make_sql_table", settings)
    ours = run("sql_to_kafka", {**settings, "topic": new_topic(bench.kafka, dialect)})
    naive = run("naive_sql", {**settings, "topic": new_topic(bench.kafka, f"{dialect}-naive")})
    peer = "driver cursor + json.dumps + produce()"
    yield entry(f"{name} -> JSON -> Kafka, 940 bytes a row", ours, peer, naive, must=MUST[dialect])
    lz4 = {"connector": json.dumps({"producer.override.compression.type": "lz4"})}
    ours_lz4 = run("sql_to_kafka", {**settings, **lz4, "topic": new_topic(bench.kafka, f"{dialect}-lz4")})
    yield entry(f"{name} -> JSON -> Kafka, lz4", ours_lz4, "the same, not compressed", ours)
    once = run("sql_to_kafka", {**settings, "exactly_once": "yes", "topic": new_topic(bench.kafka, f"{dialect}-once")})
    yield entry(f"{name} -> JSON -> Kafka, exactly once", once, "the same at least once", ours)
    if dialect == "postgresql":
        with SchemaRegistryService() as registry:
            avro = {"registry": registry.endpoint.url, "converter": "io.confluent.connect.avro.AvroConverter"}
            ours_avro = run("sql_to_kafka", {**settings, **avro, "topic": new_topic(bench.kafka, f"{dialect}-avro")})
        yield entry(f"{name} -> Avro -> Kafka", ours_avro, peer, naive, must=MUST_AVRO)
        copied = run("copy_out", {**settings, "topic": ""})
        yield entry(f"{name} -> JSON -> Kafka, beside a ceiling", ours, "COPY out, thrown away", copied)
        yield entry(f"{name} -> JSON -> Kafka, beside a ceiling", ours, "librdkafka produce(), ready bytes", produced)
