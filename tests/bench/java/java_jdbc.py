"""Measures Java Kafka Connect with a JDBC source of one's own choice on the table that ours reads, in the same run.

No JDBC connector is on Maven Central: `--java-jdbc-plugin` names a folder that holds one with its drivers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from confluent_kafka.admin import AdminClient, NewTopic

from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.process.errors import ServiceError
from connect.tools.services.registry import SchemaRegistryService
from tests.bench import sql_jobs
from tests.bench.java.avro_converter import CLASS as AVRO_CONVERTER
from tests.bench.java.avro_converter import avro_converter
from tests.bench.java.java_peer import JavaPeer
from tests.bench.measure import RUNS, Figure, entry
from tests.bench.server_cpu import ServerCpu
from tests.bench.throughput import JAVA, Bench, drop_topic

SOURCE = "jdbc.JdbcSourceConnector"
"""How the class of every fork of Confluent's connector ends."""
PRODUCER = {"producer.override.linger.ms": "50", "producer.override.batch.size": "262144"}
ROWS_A_BATCH = "1000"
"""Confluent's default. It keeps four batches as Java objects, which of larger ones take more memory."""
JSON = "JSON"


def java_entries(
    bench: Bench,
    name: str,
    server: PostgresService | MariaDbService,
    settings: Mapping[str, str],
    ours: Mapping[str, Figure],
) -> Iterator[dict]:
    """A row for each format in `ours`, JSON or Avro; none without a plug-in."""
    if bench.java_jdbc_plugin is None:
        bench.say(f"{JAVA} is left out of {name}: --java-jdbc-plugin names a folder with a JDBC connector for it.")
        return
    with ExitStack() as stack:
        registry, plugins = SchemaRegistryService(), [bench.java_jdbc_plugin]
        formats = {JSON: dict[str, str]()}
        if "Avro" in ours:
            try:
                plugins.append(avro_converter())
            except ServiceError as error:
                bench.say(f"{JAVA} is left out of Avro: {error}")
            else:
                url = stack.enter_context(registry).endpoint.url
                formats["Avro"] = {"value.converter": AVRO_CONVERTER, "value.converter.schema.registry.url": url}
        try:
            java = stack.enter_context(JavaPeer(settings["bootstrap"], plugins, bench.folder))
        except ServiceError as error:
            bench.say(f"{JAVA} is left out of {name}: {error}")
            return
        found = next((cls for cls in java.connectors() if cls.endswith(SOURCE)), None)
        if found is None:
            bench.say(f"{JAVA} is left out of {name}: no class in {bench.java_jdbc_plugin} ends with {SOURCE}.")
            return
        for form, converter in formats.items():
            theirs, spent = _moved(bench, java, server, settings, {"connector.class": found, **converter})
            _tell(bench, f"{name} -> {form}, {found}", theirs, spent)
            row = entry(f"{name} -> {form} -> Kafka, beside Java", ours[form], f"{JAVA}, {found}", theirs)
            yield row | {"peer_servers_cpu_s_per_mrow": spent, "peer_max_rss_mb": theirs.max_rss_mb}


def _moved(
    bench: Bench,
    java: JavaPeer,
    server: PostgresService | MariaDbService,
    settings: Mapping[str, str],
    own: Mapping[str, str],
) -> tuple[Figure, dict[str, float]]:
    """The whole table: the first time warms the JIT, of the others the fastest counts, as with ours.

    With CPU seconds of the servers per million rows.
    """
    rows, admin = int(settings["rows"]), AdminClient({"bootstrap.servers": settings["bootstrap"]})
    measured = []
    for run in range(1 + RUNS):
        prefix = f"java-{settings['dialect']}-{len(own)}-{run}"
        topic = f"{prefix}-{sql_jobs.TABLE}"
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
        config = {
            **sql_jobs.connector({**settings, "topic": prefix}),
            **PRODUCER,
            "batch.max.rows": ROWS_A_BATCH,
            **own,
        }
        servers = ServerCpu({"broker": bench.kafka.pid, "database": server.pid})
        figure = java.any_source(config.pop("name"), config, topic, rows)
        measured.append((figure, {name: cpu_s / figure.rows * 1e6 for name, cpu_s in servers.read().items()}))
        drop_topic(bench.kafka, topic)
    return max(measured[1:], key=lambda one: one[0].rows_per_s)


def _tell(bench: Bench, what: str, figure: Figure, spent: Mapping[str, float]) -> None:
    parts = json.dumps({"worker": round(figure.cpu_s_per_mrow, 2), **{k: round(v, 2) for k, v in spent.items()}})
    bench.say(f"{what}: {figure.rows_per_s:,.0f} rows/s, {figure.max_rss_mb:,.0f} MB; cpu s per million rows: {parts}")
