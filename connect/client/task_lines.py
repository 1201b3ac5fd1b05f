"""Shows a cluster's tasks on one line each, with what they do now: from statuses and two scrapes of metrics. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.client.overview import rank

_PREFIX: Final = "kafka_connect_task_"

Figures = Mapping[tuple[str, str], Mapping[str, float]]
"""Maps each task, by its connector and number, to its figures by the metric's name without its prefix."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """Holds the metrics of all workers at one time. `at_s` is the time by a clock that never goes back."""

    at_s: float
    figures: Figures


@dataclass(frozen=True, slots=True)
class TaskLine:
    """Describes a task, or a connector without one (`task` empty). None: the cluster does not tell, as a Java one.

    `lag_s` of a source is how far it is behind, `lag_rows` by how many rows at least. CPU and memory are those of
    the process that the task is in, which it may share with others.
    """

    connector: str
    task: str
    type: str
    state: str
    worker: str
    rows_per_second: float | None = None
    lag_rows: float | None = None
    lag_s: float | None = None
    host_cpu_percent: float | None = None
    host_memory_bytes: float | None = None
    reason: str = ""


def figures_of(text: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return the tasks' figures in a worker's metrics. ConnectError: they are not in Prometheus' text format."""
    from prometheus_client.parser import text_string_to_metric_families

    try:
        families = [*text_string_to_metric_families(text)]
    except ValueError as error:
        raise ConnectError(f"A worker's GET /metrics is no text of Prometheus: {error}") from error
    found: dict[tuple[str, str], dict[str, float]] = {}
    for family in families:
        for sample in family.samples:
            if sample.name.startswith(_PREFIX) and {"connector", "task"} <= sample.labels.keys():
                task = found.setdefault((sample.labels["connector"], sample.labels["task"]), {})
                task[sample.name.removeprefix(_PREFIX)] = sample.value
    return found


def workers_of(connectors: Mapping[str, Any]) -> list[str]:
    """Return the `host:port` of every worker that runs a task, from the answer of GET /connectors?expand=status."""
    tasks = (task for parts in connectors.values() for task in parts.get("status", {}).get("tasks", ()))
    return sorted({str(task["worker_id"]) for task in tasks if task.get("worker_id")})


def task_lines(connectors: Mapping[str, Any], before: Scrape, now: Scrape) -> list[TaskLine]:
    """Return a line for each task: first the tasks that need a person, then those that move most rows."""
    lines = [line for name, parts in connectors.items() for line in _of_connector(name, parts, before, now)]
    return sorted(lines, key=lambda line: (rank(line.state), -(line.rows_per_second or 0.0), line.connector, line.task))


def _of_connector(name: str, parts: Mapping[str, Any], before: Scrape, now: Scrape) -> Iterator[TaskLine]:
    status = parts.get("status", {})
    kind, own = str(parts.get("info", {}).get("type", "")), status.get("connector", {})
    if not status.get("tasks"):
        yield TaskLine(name, "", kind, own.get("state", "UNASSIGNED"), own.get("worker_id", ""), reason=_reason(own))
    for task in status.get("tasks", ()):
        number = str(task["id"])
        was, found = before.figures.get((name, number), {}), now.figures.get((name, number), {})
        passed_s = now.at_s - before.at_s
        cpu = _rate("host_cpu_seconds_total", was, found, passed_s)
        yield TaskLine(
            name, number, kind, task["state"], task.get("worker_id", ""),
            rows_per_second=_rate("rows_total", was, found, passed_s),
            lag_rows=found.get("lag_rows", found.get("source_lag_rows")),
            lag_s=found.get("lag_seconds", found.get("source_lag_seconds")),
            host_cpu_percent=None if cpu is None else 100 * cpu,
            host_memory_bytes=found.get("host_memory_bytes"),
            reason=_reason(task) or _reason(own),
        )  # fmt: skip


def _rate(name: str, was: Mapping[str, float], found: Mapping[str, float], passed_s: float) -> float | None:
    """Return how much a figure grows per second; None if the task tells nothing, or was restarted since."""
    if not found or not was or passed_s <= 0:
        return None
    grown = found.get(name, 0.0) - was.get(name, 0.0)
    return grown / passed_s if grown >= 0 else None


def _reason(part: Mapping[str, Any]) -> str:
    return str(part.get("reason") or str(part.get("trace") or "").partition("\n")[0])


def cells(line: TaskLine) -> Sequence[str]:
    """Return the cells of a line for people; `–` stands for a figure that the cluster does not tell."""
    return (
        line.connector, line.task or "–", line.state,
        _number(line.rows_per_second, ",.0f"), _number(line.lag_rows, ",.0f"),
        _number(line.lag_s, ",.1f", " s"), _number(line.host_cpu_percent, ".0f", " %"),
        "–" if line.host_memory_bytes is None else f"{line.host_memory_bytes / 2**20:,.0f} MiB",
        line.worker or "–", line.reason,
    )  # fmt: skip


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"


COLUMNS: Final = ("CONNECTOR", "TASK", "STATE", "ROWS/S", "LAG", "BEHIND", "HOST CPU", "HOST MEM", "WORKER", "REASON")
"""Names the columns that `cells` fills."""
