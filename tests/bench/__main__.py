"""`make bench`: every job beside its peer, on one embedded broker; prints a table, writes bench.json."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from rich.console import Console
from rich.table import Table

from connect.services import KafkaService, SchemaRegistryService, SeaweedS3Service
from tests.bench.measure import Figure, entry

COLUMNS = ("name", "rows", "rows/s", "cpu s/M rows", "RSS MB", "peer", "peer rows/s", "peer cpu s/M", "ratio")


def run(job: str, settings: dict[str, str]) -> Figure:
    """One job in a fresh process."""
    argv = [sys.executable, "-m", "tests.bench.jobs", job, json.dumps(settings)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{job} failed:\n{done.stderr[-3000:]}")
    return Figure(**json.loads(done.stdout.splitlines()[-1]))


def topic(kafka: KafkaService, name: str, partitions: int = 1) -> str:
    """A fresh topic."""
    from confluent_kafka.admin import AdminClient, NewTopic

    unique = f"{name}-{uuid.uuid4().hex[:6]}"
    admin = AdminClient({"bootstrap.servers": kafka.endpoint.bootstrap_servers})
    for made in admin.create_topics([NewTopic(unique, partitions, 1)]).values():
        made.result(30)
    return unique


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    options = parser.parse_args()
    rows = str(options.rows)
    results = []
    with tempfile.TemporaryDirectory() as folder, KafkaService(heap_mib=1024) as kafka, SeaweedS3Service() as s3:
        s3.create_bucket("bench")
        base = {"bootstrap": kafka.endpoint.bootstrap_servers, "rows": rows}
        run("raw_produce", {**base, "topic": topic(kafka, "warm-up"), "rows": "100000"})
        raw = run("raw_produce", {**base, "topic": topic(kafka, "raw")})
        filled = topic(kafka, "memory")
        ours = run("memory_to_kafka", {**base, "topic": filled})
        results.append(entry("in-memory source -> JSON -> Kafka", ours, "librdkafka produce(), ready bytes", raw))

        with SchemaRegistryService() as registry:
            avro = {**base, "registry": registry.endpoint.url, "converter": "io.confluent.connect.avro.AvroConverter"}
            ours = run("memory_to_kafka", {**avro, "topic": topic(kafka, "avro")})
            peer = run("avro_serializer", {**avro, "topic": topic(kafka, "avro-peer"), "rows": "100000"})
        results.append(entry("in-memory source -> Avro, registry -> Kafka", ours, "AvroSerializer + produce()", peer))

        # In a process of its own: a child's peak memory begins with that of its parent.
        database = Path(folder) / "bench.db"
        run("make_database", {"database": str(database), "rows": rows})
        ours = run("sqlite_to_kafka", {**base, "topic": topic(kafka, "sqlite"), "database": str(database)})
        naive = run("naive_sqlite", {**base, "topic": topic(kafka, "naive"), "database": str(database)})
        results.append(entry("SQLite -> JSON -> Kafka", ours, "sqlite3 + json.dumps + produce()", naive))

        ours = run(
            "kafka_to_s3",
            {
                **base, "topic": filled, "s3_url": s3.endpoint.url, "bucket": "bench",
                "access_key_id": s3.endpoint.access_key_id, "secret_access_key": s3.endpoint.secret_access_key,
            },
        )  # fmt: skip
        results.append(
            entry(
                "Kafka JSON -> Parquet in S3",
                ours,
                "librdkafka consume(), thrown away",
                run("raw_consume", {**base, "topic": filled}),
            )
        )
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    show(results)
    return 0


def show(results: list[dict]) -> None:
    table = Table(*COLUMNS)
    for r in results:
        peer = r["peer"] or {}
        table.add_row(
            r["name"], f"{r['rows']:,}", f"{r['rows_per_s']:,.0f}", f"{r['cpu_s_per_mrow']:.2f}",
            f"{r['max_rss_mb']:.0f}",
            str(peer.get("name", "")), f"{peer.get('rows_per_s', 0):,.0f}", f"{peer.get('cpu_s_per_mrow', 0):.2f}",
            "" if r["ratio"] is None else f"{r['ratio']:.2f}",
        )  # fmt: skip
    Console(width=180).print(table)


if __name__ == "__main__":
    sys.exit(main())
