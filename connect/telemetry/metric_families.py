"""Turns a worker's figures into Prometheus families, by the declarations of `metrics` and `java_metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family

from connect.telemetry.java_metrics import JAVA_TASK_METRICS, JAVA_WORKER_METRICS
from connect.telemetry.metrics import (
    ALERT_METRICS,
    BACKFILL_METRICS,
    BACKFILL_STATUS,
    KAFKA_METRICS,
    LATENCY,
    STATES,
    TASK_METRICS,
    WORKER_METRICS,
)

TASK_LABELS: Final = ("connector", "task")
BACKFILL_LABELS: Final = ("backfill",)
_BUCKET: Final = f"{LATENCY.figure}_le_"
_SUM: Final = f"{LATENCY.figure}_sum_s"
_DECLARED: Final = frozenset([m.figure for m in TASK_METRICS] + [m.figure for m in JAVA_TASK_METRICS])
Labels = tuple[str, ...]
Samples = Sequence[tuple[Labels, float]]
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ConnectorStates:
    """Holds a connector's state and those of its tasks on this worker, by number; states in lower case.

    `kind`: source, sink or unknown. `plugin` and `version` name what runs it.
    """

    state: str
    tasks: Mapping[str, str]
    here: bool = True
    """True if the connector itself is on this worker."""
    kind: str = "unknown"
    plugin: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class BackfillFigures:
    """Holds a backfill's state in lower case, and what is known by the figures of BACKFILL_METRICS."""

    state: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """Holds all that a scrape shows.

    `tasks` is keyed by connector and task; `about` are the labels of kafka_connect_app_info. `alerts`: by the keys of
    ALERT_METRICS; empty where none are told. `worker`: by the figures of WORKER_METRICS, KAFKA_METRICS and
    JAVA_WORKER_METRICS. `backfills`: by name, on the leader alone.
    """

    about: Mapping[str, str]
    tasks: Mapping[tuple[str, str], Figures] = field(default_factory=dict)
    connectors: Mapping[str, ConnectorStates] = field(default_factory=dict)
    alerts: Figures = field(default_factory=dict)
    worker: Figures = field(default_factory=dict)
    leader: str = ""
    backfills: Mapping[str, BackfillFigures] = field(default_factory=dict)


def families(figures: WorkerFigures) -> Iterator[Family]:
    """Yield Prometheus families of a worker's figures.

    A figure nobody declared is `kafka_connect_task_gauge{name=}`.
    """
    about = figures.about
    yield _family("kafka_connect_app_info", "What runs here.", tuple(about), [(tuple(about.values()), 1.0)])
    for name, label in (("version_info", "version"), ("commit_id_info", "commit")):
        if label in about:
            yield _family(f"kafka_connect_{name}", f"The {label} that runs here.", (label,), [((about[label],), 1.0)])
    yield from _task_families(figures)
    yield from _worker_families(figures)
    yield from _connector_families(figures.connectors)
    yield from _backfill_families(figures.backfills)
    for count, value in figures.alerts.items():
        yield _family(ALERT_METRICS[count].name, ALERT_METRICS[count].doc, (), [((), value)])


def _task_families(figures: WorkerFigures) -> Iterator[Family]:
    samples: Samples
    for metric in TASK_METRICS:
        samples = [(task, found[metric.figure]) for task, found in figures.tasks.items() if metric.figure in found]
        if samples:
            yield _family(metric.name, metric.doc, TASK_LABELS, samples)
    by_kind: dict[str, list[tuple[Labels, Figures]]] = {"": [*figures.tasks.items()]}
    for task, found in figures.tasks.items():
        connector = figures.connectors.get(task[0])
        by_kind.setdefault("unknown" if connector is None else connector.kind, []).append((task, found))
    for java in JAVA_TASK_METRICS:
        samples = [
            (task, found[java.figure] * java.factor)
            for task, found in by_kind.get(java.tasks_of, ())
            if java.figure in found
        ]
        if samples:
            yield _family(java.name, java.doc, TASK_LABELS, samples)
    yield from _latency_family(figures)
    unknown = [
        ((*task, name), value)
        for task, found in figures.tasks.items()
        for name, value in found.items()
        if name not in _DECLARED and not name.startswith((_BUCKET, _SUM))
    ]
    yield _family("kafka_connect_task_gauge", "Further figures of connectors.", (*TASK_LABELS, "name"), unknown)


def _latency_family(figures: WorkerFigures) -> Iterator[Family]:
    family = HistogramMetricFamily(LATENCY.name, LATENCY.doc, labels=TASK_LABELS)
    for task, found in figures.tasks.items():
        if _SUM in found:
            buckets = [(name.removeprefix(_BUCKET), value) for name, value in found.items() if name.startswith(_BUCKET)]
            family.add_metric(task, buckets, found[_SUM])
    if family.samples:
        yield family


def _worker_families(figures: WorkerFigures) -> Iterator[Family]:
    here = sum(found.here for found in figures.connectors.values())
    tasks = sum(len(found.tasks) for found in figures.connectors.values())
    values = {"connectors": float(here), "tasks": float(tasks), **figures.worker}
    for metric in (*WORKER_METRICS, *KAFKA_METRICS):
        if metric.figure in values:
            yield _family(metric.name, metric.doc, (), [((), values[metric.figure])])
    for java in JAVA_WORKER_METRICS:
        if java.figure in values:
            yield _family(java.name, java.doc, (), [((), values[java.figure] * java.factor)])
    if figures.leader:
        name = "kafka_connect_worker_rebalance_leader_name"
        yield _family(name, "The worker that leads the group.", ("leader_name",), [((figures.leader,), 1.0)])


def _backfill_families(backfills: Mapping[str, BackfillFigures]) -> Iterator[Family]:
    if backfills:
        states = [((name, found.state), 1.0) for name, found in backfills.items()]
        yield _family(BACKFILL_STATUS.name, BACKFILL_STATUS.doc, (*BACKFILL_LABELS, "status"), states)
    for metric in BACKFILL_METRICS:
        known = [((name,), f.figures[metric.figure]) for name, f in backfills.items() if metric.figure in f.figures]
        if known:
            yield _family(metric.name, metric.doc, BACKFILL_LABELS, known)


def _connector_families(connectors: Mapping[str, ConnectorStates]) -> Iterator[Family]:
    here = [(name, found) for name, found in connectors.items() if found.here]
    state = [((name, found.state), 1.0) for name, found in here]
    yield _family("kafka_connect_connector_status", "The connector is in this state.", ("connector", "status"), state)
    for label, values in (
        ("connector_class", [((name, found.plugin), 1.0) for name, found in here]),
        ("connector_type", [((name, found.kind), 1.0) for name, found in here]),
        ("connector_version", [((name, found.version), 1.0) for name, found in here]),
    ):
        text = label.replace("_", " ")
        yield _family(f"kafka_connect_connector_{label}", f"The {text}.", ("connector", label), values)
    states = [((name, task, state), 1.0) for name, found in connectors.items() for task, state in found.tasks.items()]
    labels = (*TASK_LABELS, "status")
    yield _family("kafka_connect_connector_task_status", "The task is in this state.", labels, states)
    total = [((name,), float(len(found.tasks))) for name, found in connectors.items()]
    name = "kafka_connect_worker_connector_total_task_count"
    yield _family(name, "Tasks of this worker.", ("connector",), total)
    counts = {name: Counter(found.tasks.values()) for name, found in connectors.items()}
    for task_state in STATES:
        samples = [((name,), float(count[task_state])) for name, count in counts.items()]
        name = f"kafka_connect_worker_connector_{task_state}_task_count"
        yield _family(name, f"Tasks of this worker that are {task_state}.", ("connector",), samples)


def _family(name: str, doc: str, labels: Labels, samples: Iterable[tuple[Labels, float]]) -> Family:
    """Return a counter where the name ends as those do, else a gauge."""
    made = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family: CounterMetricFamily | GaugeMetricFamily = made(name, doc, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family
