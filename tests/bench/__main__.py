"""Runs the bench, as `make bench` does: ours beside its peers, on one embedded broker.

Each part is shown as a table and written to a file: throughput to bench.json, every other part, such as `sql`, to
bench-sql.json; the BigQuery sink in a worker to bench-bigquery-worker.json.
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

from connect.tools.services import KafkaService
from tests.bench.backfill_bench import ROWS as BACKFILL_ROWS
from tests.bench.backfill_bench import measure_backfill
from tests.bench.bigquery_duplicates import duplicates_table, measure_duplicates
from tests.bench.bigquery_merge import measure_merges, merges_table
from tests.bench.bigquery_requests import measure_requests, requests_table
from tests.bench.bigquery_worker import measure_worker
from tests.bench.cassandra.cassandra_report import cassandra_entries
from tests.bench.checking_cost import costs, costs_table
from tests.bench.cluster.cluster_many import (
    CONNECTORS,
    WORKERS,
    beside_entries,
    file_lines,
    made_rows,
    many_entries,
)
from tests.bench.cluster.cluster_report import cluster_entries, cluster_table
from tests.bench.log.log_report import log_entries, log_table
from tests.bench.page_cost import page_costs, page_table
from tests.bench.profile_table import profile_table
from tests.bench.s3_files import ROWS_PER_OBJECT
from tests.bench.s3_paths import measure_paths, paths_table
from tests.bench.s3_throughput import measure_s3
from tests.bench.sql_bench import measure_exactly_once, measure_sql
from tests.bench.throughput import Bench, measure_throughput, new_topic
from tests.bench.token_cost import token_costs

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
    parser.add_argument(
        "--connectors", type=int, default=CONNECTORS, help=f"connectors of cluster-many: else {CONNECTORS:,}"
    )
    parser.add_argument(
        "--java-connectors", type=int, default=0, help="connectors of cluster-many that Java's workers run beside ours"
    )
    parser.add_argument("--only", choices=sorted(PARTS), help="run one part")
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
        java = {"java_s3_plugin": options.java_s3_plugin, "java_jdbc_plugin": options.java_jdbc_plugin}
        bench = Bench(
            kafka,
            Path(name),
            options.rows or 0,
            CONSOLE.print,
            connectors=options.connectors,
            java_connectors=options.java_connectors,
            **java,
        )
        for part, measure in PARTS.items():
            if options.only in {None, part}:
                ending = "" if part == "throughput" else f"-{part}"
                measure(bench, options.out.with_name(f"{options.out.stem}{ending}.json"))
    return 0


def sql(bench: Bench, out: Path) -> None:
    throughput(measure_sql(replace(bench, rows=bench.rows or SQL_ROWS)), out)


def exactly_once(bench: Bench, out: Path) -> None:
    throughput(measure_exactly_once(replace(bench, rows=bench.rows or SQL_ROWS)), out)


def data_paths(bench: Bench, out: Path) -> None:
    throughput(measure_throughput(replace(bench, rows=bench.rows or ROWS)), out)


def logs(bench: Bench, out: Path) -> None:
    show_logs(log_entries(bench.kafka, CONSOLE.print), out)


def cassandra(bench: Bench, out: Path) -> None:
    show_logs(cassandra_entries(bench.kafka, CONSOLE.print), out)


def show_logs(found: list[dict], out: Path) -> None:
    out.write_text(json.dumps(found, indent=1) + "\n")
    CONSOLE.print(log_table(found))
    CONSOLE.print(profile_table(found))


def backfill(bench: Bench, out: Path) -> None:
    throughput(measure_backfill(replace(bench, rows=bench.rows or BACKFILL_ROWS)), out)


def s3(bench: Bench, out: Path) -> None:
    throughput(measure_s3(replace(bench, rows=bench.rows or ROWS)), out)


def paths(bench: Bench, out: Path) -> None:
    found = list(measure_paths(bench.rows or ROWS))
    out.write_text(json.dumps(found, indent=1) + "\n")
    CONSOLE.print(paths_table(found))


def checking(_bench: Bench, out: Path) -> None:
    found = costs()
    out.write_text(json.dumps(found, indent=1) + "\n")
    CONSOLE.print(costs_table(found))


def pages(bench: Bench, out: Path) -> None:
    found = page_costs(bench.kafka.endpoint, CONSOLE.print)
    out.write_text(json.dumps(found, indent=1) + "\n")
    CONSOLE.print(page_table(found))


def tokens(bench: Bench, out: Path) -> None:
    found = [cost._asdict() for cost in token_costs(bench.kafka.endpoint)]
    out.write_text(json.dumps(found, indent=1) + "\n")
    CONSOLE.print(page_table(found))


def cluster(bench: Bench, out: Path) -> None:
    found = cluster_entries(bench.kafka, bench.folder, lambda topic: new_topic(bench.kafka, topic), CONSOLE.print)
    out.write_text(json.dumps(found, indent=1) + "\n")
    CONSOLE.print(cluster_table(found))


def cluster_many(bench: Bench, out: Path) -> None:
    servers, found = bench.kafka.endpoint.bootstrap_servers, []
    if bench.connectors:
        load = made_rows(bench.connectors, new_topic(bench.kafka, "many"))
        found = many_entries(servers, load, CONSOLE.print)
        CONSOLE.print(cluster_table(found, f"{bench.connectors:,} connectors, {WORKERS} workers, one broker"))
    if bench.java_connectors:
        load = file_lines(bench.java_connectors, new_topic(bench.kafka, "beside"), bench.folder)
        beside = beside_entries(servers, load, CONSOLE.print)
        CONSOLE.print(cluster_table(beside, f"{bench.java_connectors:,} file sources, {WORKERS} workers, one broker"))
        found += beside
    out.write_text(json.dumps(found, indent=1) + "\n")


def bigquery(bench: Bench, out: Path) -> None:
    """Each table is shown as soon as it is measured."""
    found: list[dict] = []
    for measure, table in BIGQUERY:
        entries = measure()
        CONSOLE.print(table(entries))
        found += entries
        out.write_text(json.dumps(found, indent=1) + "\n")
    worker = replace(bench, rows=bench.rows or ROWS)
    throughput(measure_worker(worker), out.with_name(f"{out.stem}-worker.json"))


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


PARTS = {
    "throughput": data_paths, "sql": sql, "sql-once": exactly_once, "log": logs, "cassandra": cassandra,
    "bigquery": bigquery, "backfill": backfill, "s3": s3, "s3-paths": paths, "cluster": cluster,
    "cluster-many": cluster_many, "checking": checking, "pages": pages, "tokens": tokens,
}  # fmt: skip
"""What can be measured by itself, and its name in the names of files."""


if __name__ == "__main__":
    sys.exit(main())
