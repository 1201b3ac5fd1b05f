"""Shows the figures of both kinds of cluster side by side, and what ours must reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.table import Table

from connect.tools.services import KafkaService
from connect.tools.services.process.errors import ServiceError
from tests.bench.cluster.cluster_figures import CONNECTORS, measure_cluster
from tests.bench.throughput import JAVA

TARGETS = {
    "start to REST, s": 2.0,
    "start to REST, new cluster, s": 2.0,
    "idle worker, USS MiB": 150.0,
    "first record of a fresh worker, s": 0.3,
    "first record after POST, s": 0.3,
    "task restart, longest gap, s": 1.0,
    "SIGTERM of the owner, longest gap, s": 1.0,
    "kill -9 of the owner, longest gap, s": 2.0,
    "freeze of the owner, longest gap, s": 7.0,
    f"{CONNECTORS} connectors RUNNING, s": 60.0,
    "GET meanwhile, p99 ms": 100.0,
    f"both workers with {CONNECTORS} connectors, USS MiB": 500.0,
}


def cluster_entries(
    kafka: KafkaService, folder: Path, new_topic: Callable[[str], str], say: Callable[[str], None]
) -> list[dict]:
    """One entry per figure: ours, what it must not exceed, the peer's, and the peer's over ours."""
    broker = kafka.endpoint.bootstrap_servers
    ours = measure_cluster("ours", broker, folder, new_topic)
    say(f"two workers of ours: {len(ours)} figures")
    try:
        java = measure_cluster("java", broker, folder, new_topic)
    except ServiceError as error:
        say(f"{JAVA} is left out: {error}")
        java = {}
    return [
        {
            "name": name,
            "ours": value,
            "must": TARGETS.get(name),
            "peer": {"name": JAVA, "value": java[name]} if name in java else None,
            "ratio": java[name] / value if name in java and value else None,
        }
        for name, value in ours.items()
    ]


def cluster_table(entries: list[dict], what: str = "two workers, one broker") -> Table:
    """The table for people; a figure beyond its limit is marked."""
    table = Table(what, "ours", "must", "", JAVA, "peer / ours", title="cluster")
    for e in entries:
        reached = "" if e["must"] is None else "ok" if e["ours"] <= e["must"] else "MISSED"
        table.add_row(
            e["name"], f"{e['ours']:,.2f}", "" if e["must"] is None else f"{e['must']:g}", reached,
            "" if e["peer"] is None else f"{e['peer']['value']:,.2f}",
            "" if e["ratio"] is None else f"{e['ratio']:.1f}",
        )  # fmt: skip
    return table
