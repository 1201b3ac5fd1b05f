"""Reads what each surface of a cluster says about its connectors, as a user or a program reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple

import requests
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from connect.cli import main

TIMEOUT_S = 30
_EVENT = "data: "


class Told(NamedTuple):
    """Holds a connector as one surface shows it: the worst of its states, and the rows that wait. None says that the
    surface does not tell.
    """

    state: str
    lag_rows: float | None = None


class _Tables(HTMLParser):
    """Reads the rows of all tables of a page, as the texts of their cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def command(url: str, *arguments: str) -> Any:
    """Return the JSON that a command prints."""
    result = CliRunner().invoke(main, [*arguments, "--json", "--url", url])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def rest(url: str) -> dict[str, Told]:
    """Return what GET /connectors says."""
    found = requests.get(f"{url}/connectors?expand=status", timeout=TIMEOUT_S).json()
    order = ("FAILED", "UNASSIGNED", "RESTARTING", "PAUSED", "STOPPED", "RUNNING")
    told = {}
    for name, parts in found.items():
        states = [parts["status"]["connector"]["state"], *(task["state"] for task in parts["status"]["tasks"])]
        told[name] = Told(min(states, key=order.index))
    return told


def status(url: str) -> dict[str, Told]:
    """Return what `connect status` says."""
    return {line["name"]: Told(line["state"]) for line in command(url, "status")}


def top(url: str) -> dict[str, Told]:
    """Return what `connect top` says about connectors of one task."""
    lines = command(url, "top", "--once", "--interval", "0.2")
    return {line["connector"]: Told(line["state"], line["lag_rows"]) for line in lines}


def flow(url: str) -> dict[str, Told]:
    """Return what GET /flow says about connectors."""
    nodes = requests.get(f"{url}/flow", timeout=TIMEOUT_S).json()["nodes"]
    return {n["name"]: Told(n["state"], n["lag_rows"]) for n in nodes if n["kind"] in {"source", "sink"}}


def page(url: str) -> dict[str, Told]:
    """Return what the first page shows without JavaScript."""
    return dict(_shown(requests.get(f"{url}/ui", timeout=TIMEOUT_S).text))


def live(url: str) -> dict[str, Told]:
    """Return what the first page is sent while it is open."""
    with requests.get(f"{url}/ui/live/overview?page=1", stream=True, timeout=TIMEOUT_S) as events:
        lines = (line.decode() for line in events.iter_lines())
        html = json.loads(next(line for line in lines if line.startswith(_EVENT)).removeprefix(_EVENT))
    return dict(_shown(html))


def _shown(html: str) -> Iterator[tuple[str, Told]]:
    for cells in _Tables(html).rows:
        if len(cells) == 8 and cells[0].strip() != "Name":
            lag = re.search(r"([\d,]+) rows", cells[6])
            state = cells[1].split()[-1]
            yield cells[0].strip(), Told(state, float(lag[1].replace(",", "")) if lag else None)


Sample = tuple[str, tuple[tuple[str, str], ...]]
"""Holds a metric's name and its labels."""


class Metrics:
    """Holds one scrape of all workers. AssertionError: a worker shows the same sample twice."""

    def __init__(self, urls: list[str]) -> None:
        self.by_worker: dict[str, dict[Sample, float]] = {}
        self.counters: set[str] = set()
        for url in urls:
            samples = self.by_worker[url] = {}
            text = requests.get(f"{url}/metrics", timeout=TIMEOUT_S).text
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    key = sample.name, tuple(sorted(sample.labels.items()))
                    assert key not in samples, f"{url} tells {key} twice"
                    samples[key] = sample.value
                    if family.type == "counter":
                        self.counters.add(sample.name)

    def of(self, name: str) -> dict[str, list[tuple[str, float]]]:
        """Return for each connector what all workers say about it: the label `status`, and the number."""
        found: dict[str, list[tuple[str, float]]] = {}
        for samples in self.by_worker.values():
            for (metric, labels), value in samples.items():
                if metric == name:
                    at = dict(labels)
                    found.setdefault(at["connector"], []).append((at.get("status", ""), value))
        return found

    def connectors(self) -> set[str]:
        """Return the connectors that a sample names."""
        return {
            value
            for samples in self.by_worker.values()
            for _, labels in samples
            for label, value in labels
            if label == "connector"
        }

    def told(self) -> dict[str, Told]:
        """Return the connectors by the samples of tasks and connectors. AssertionError: two workers claim one task."""
        lags = self.of("kafka_connect_task_lag_rows")
        tasks = self.of("kafka_connect_connector_task_status")
        told = {}
        for name, said in self.of("kafka_connect_connector_status").items():
            states = [state.upper() for state, _ in tasks.get(name, said)]
            assert len(states) == 1, f"{name} has {states} at once"
            told[name] = Told(states[0], lags[name][0][1] if name in lags else None)
        return told


SURFACES = {
    "REST": rest, "connect status": status, "connect top": top, "GET /flow": flow, "/ui": page, "live /ui": live,
}  # fmt: skip
