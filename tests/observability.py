"""Reads the queries in docker/observability, and runs a real Prometheus to ask them."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import yaml
from e2e_worker import wait_for

FOLDER = Path(__file__).parents[1] / "docker" / "observability"
RULES = FOLDER / "rules"
BOARDS = FOLDER / "grafana" / "dashboards"
BIGQUERY = BOARDS / "connect-bigquery.json"
_METRIC = re.compile(r"\b(?:kafka_connect|process)_[a-z0-9_]+")


def board_queries(board: Path) -> list[str]:
    """Return every query of a dashboard."""
    panels = json.loads(board.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def queries() -> list[str]:
    """Return every query of the dashboards and rules, except for those of BigQuery sinks."""
    shown = [query for board in sorted(BOARDS.glob("*.json")) if board != BIGQUERY for query in board_queries(board)]
    rules = yaml.safe_load((RULES / "connect.yml").read_text())
    return [*shown, *(rule["expr"] for group in rules["groups"] for rule in group["rules"])]


def metrics_in(query: str) -> set[str]:
    """Return the metrics that a query names."""
    return set(_METRIC.findall(query))


def samples_of(text: str) -> set[str]:
    """Return the names of all samples of a scrape."""
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}


def tool(name: str) -> str:
    """Return the path of a Prometheus tool."""
    found = shutil.which(name)
    assert found is not None, f"{name} is not installed (apt-get install --no-install-recommends prometheus)."
    return found


@contextmanager
def prometheus(folder: Path, worker_url: str) -> Iterator[str]:
    """Run a Prometheus that scrapes a worker every second with our settings, and yield its address."""
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES / "connect.yml")]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [worker_url.removeprefix("http://")]}]
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (folder / "prometheus.log").open("w") as log:
        running = subprocess.Popen(
            [tool("prometheus"), f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={address}"], stdout=log, stderr=log,
        )  # fmt: skip
        try:
            wait_for(lambda: _answers(f"http://{address}/-/ready"), 60, "Prometheus")
            yield f"http://{address}"
        finally:
            running.terminate()
            running.wait(30)


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).status_code == 200
    except requests.ConnectionError:
        return False


def asked(server: str, query: str) -> list[Any]:
    """Return what Prometheus answers to a query."""
    answer = requests.get(f"{server}/api/v1/query", params={"query": query}, timeout=30).json()
    assert answer["status"] == "success", (query, answer)
    found: list[Any] = answer["data"]["result"]
    return found
