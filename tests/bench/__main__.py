"""`make bench`: ours beside its peers, on one embedded broker.

Throughput goes to a table and bench.json, that of SQL servers to bench-sql.json, the figures of a cluster of two
workers to bench-cluster.json, those of database logs to bench-log.json, those of Cassandra to bench-cassandra.json,
duplicates in BigQuery, and merges, to bench-bigquery.json, its sink in a worker to bench-bigquery-worker.json, bulk
reads of a table to bench-backfill.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from connect.services import KafkaService
from tests.bench.backfill_bench import ROWS as BACKFILL_ROWS
from tests.bench.backfill_bench import measure_backfill
from tests.bench.bigquery_duplicates import duplicates_table, measure_duplicates
from tests.bench.bigquery_merge import measure_merges, merges_table
from tests.bench.bigquery_requests import measure_requests, requests_table
from tests.bench.bigquery_worker import measure_worker
from tests.bench.cassandra.cassandra_report import cassandra_entries
from tests.bench.cluster.cluster_report import cluster_entries, cluster_table
from tests.bench.log.log_report import log_entries, log_table
from tests.bench.profile_table import profile_table
from tests.bench.s3_files import ROWS_PER_OBJECT
from tests.bench.s3_paths import measure_paths, paths_table
from tests.bench.sql_bench import measure_sql
from tests.bench.throughput import Bench, measure_throughput, new_topic

PARTS = ("throughput", "sql", "cluster", "log", "cassandra", "bigquery", "backfill", "s3-paths")
ROWS, SQL_ROWS = 1_000_000, 2_000_000
ORDINARY_BROKER = (
    "-Xms1024m", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)  # fmt: skip
"""As kafka-server-start.sh starts it."""
DROPS_AT_ONCE = {"log.segment.delete.delay.ms": "100"}
"""A dropped topic's gigabytes are not kept for a minute, in which the next job would pay for writing them to disk."""
COLUMNS = (
    "name", "rows/s", "cpu s/M rows", "rows/s per core", "must", "RSS MB", "peer", "peer rows/s", "peer cpu s/M",
    "rows/s ratio", "cpu ratio", "gate",
)  # fmt: skip
BIGQUERY = (
    (measure_duplicates, duplicates_table), (measure_merges, merges_table), (measure_requests, requests_table)
)  # fmt: skip
"""What is measured without Kafka, and how it is shown."""
CONSOLE = Console(width=200)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--rows",
        type=int,
        help=f"rows each job moves, n x 100,000: else {ROWS:,}, of SQL servers {SQL_ROWS:,}, "
        f"of backfills {BACKFILL_ROWS:,}",
    )
    parser.add_argument("--only", choices=PARTS, help="run one part")
    parser.add_argument("--java-s3-plugin", type=Path, help="folder of plug-ins with Aiven's S3 sink, for the S3 rows")
    parser.add_argument(
        "--java-jdbc-plugin",
        type=Path,
        help="folder of plug-ins, one with a JDBC source and its drivers, for the SQL rows",
    )
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    options = parser.parse_args()
    if options.rows is not None and (options.rows <= 0 or options.rows % ROWS_PER_OBJECT):
        parser.error(
            f"--rows {options.rows}: a multiple of {ROWS_PER_OBJECT:,}, the rows of one object in S3, is needed."
        )
    with (
        tempfile.TemporaryDirectory() as name,
        KafkaService(heap_mib=1024, jvm_options=ORDINARY_BROKER, properties=DROPS_AT_ONCE) as kafka,
    ):
        folder = Path(name)
        java = {"java_s3_plugin": options.java_s3_plugin, "java_jdbc_plugin": options.java_jdbc_plugin}
        bench = Bench(kafka, folder, options.rows or ROWS, CONSOLE.print, **java)
        if options.only in {None, "throughput"}:
            throughput(measure_throughput(bench), options.out)
        if options.only in {None, "sql"}:
            sql = replace(bench, rows=options.rows or SQL_ROWS)
            throughput(measure_sql(sql), options.out.with_name(f"{options.out.stem}-sql.json"))
        if options.only in {None, "log"}:
            logs = log_entries(kafka, CONSOLE.print)
            options.out.with_name(f"{options.out.stem}-log.json").write_text(json.dumps(logs, indent=1) + "\n")
            CONSOLE.print(log_table(logs))
            CONSOLE.print(profile_table(logs))
        if options.only in {None, "cassandra"}:
            cassandra = cassandra_entries(kafka, CONSOLE.print)
            out = options.out.with_name(f"{options.out.stem}-cassandra.json")
            out.write_text(json.dumps(cassandra, indent=1) + "\n")
            CONSOLE.print(log_table(cassandra))
            CONSOLE.print(profile_table(cassandra))
        if options.only in {None, "bigquery"}:
            bigquery(options.out.with_name(f"{options.out.stem}-bigquery.json"))
            throughput(measure_worker(bench), options.out.with_name(f"{options.out.stem}-bigquery-worker.json"))
        if options.only in {None, "backfill"}:
            backfills = measure_backfill(replace(bench, rows=options.rows or BACKFILL_ROWS))
            throughput(backfills, options.out.with_name(f"{options.out.stem}-backfill.json"))
        if options.only in {None, "s3-paths"}:
            found = list(measure_paths(options.rows or ROWS))
            options.out.with_name(f"{options.out.stem}-s3-paths.json").write_text(json.dumps(found, indent=1) + "\n")
            CONSOLE.print(paths_table(found))
        if options.only in {None, "cluster"}:
            found = cluster_entries(kafka, folder, lambda topic: new_topic(kafka, topic), CONSOLE.print)
            out = options.out.with_name(f"{options.out.stem}-cluster.json")
            out.write_text(json.dumps(found, indent=1) + "\n")
            CONSOLE.print(cluster_table(found))
    return 0


def bigquery(out: Path) -> None:
    """Each table is shown as soon as it is measured."""
    found: list[dict] = []
    for measure, table in BIGQUERY:
        entries = measure()
        CONSOLE.print(table(entries))
        found += entries
        out.write_text(json.dumps(found, indent=1) + "\n")


def throughput(entries: Iterable[dict], out: Path) -> None:
    """Every row is written as soon as it is known."""
    results = []
    for result in entries:
        results.append(result)
        out.write_text(json.dumps(results, indent=1) + "\n")
        CONSOLE.print(f"{result['name']}: {result['cpu_s_per_mrow']:.2f} cpu s per million rows")
    show(results)


def show(results: list[dict]) -> None:
    table = Table(*COLUMNS)
    for r in results:
        peer = r["peer"] or {}
        table.add_row(
            r["name"], f"{r['rows_per_s']:,.0f}", f"{r['cpu_s_per_mrow']:.2f}", f"{1e6 / r['cpu_s_per_mrow']:,.0f}",
            "" if r["must_rows_per_s_per_core"] is None else f"{r['must_rows_per_s_per_core']:,}",
            f"{r['max_rss_mb']:.0f}", str(peer.get("name", "")),
            f"{peer['rows_per_s']:,.0f}" if peer else "", f"{peer['cpu_s_per_mrow']:.2f}" if peer else "",
            *("" if r[name] is None else f"{r[name]:.2f}" for name in ("ratio", "cpu_ratio")), gate(r),
        )  # fmt: skip
    CONSOLE.print(table)
    CONSOLE.print(profile_table(results))


def gate(entry: Mapping) -> str:
    """Whether the peer takes as many times our CPU per row as it must, or we move as many times its rows."""
    gates = [(entry["gate"], entry["cpu_ratio"]), (entry["rate_gate"], entry["ratio"])]
    return ", ".join(
        f">= {least:g} {'met' if found >= least else 'MISSED'}" for least, found in gates if least is not None
    )


if __name__ == "__main__":
    sys.exit(main())
