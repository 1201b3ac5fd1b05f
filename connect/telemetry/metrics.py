"""Declares every metric once: name, unit, labels, meaning. Turns a worker's figures into Prometheus families.

Names that Strimzi's dashboards and alert rules read are kept (`kafka_connect_worker_task_count`, …).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

TASK_LABELS: Final = ("connector", "task")
STATES: Final = ("running", "paused", "failed", "unassigned", "stopped", "restarting")


@dataclass(frozen=True, slots=True)
class TaskMetric:
    """A figure that tasks report under `figure`, as Prometheus sees it. `also`: further names of the same number."""

    figure: str
    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    doc: str
    also: tuple[str, ...] = ()


def _rows(figure: str, doc: str, *also: str) -> TaskMetric:
    return TaskMetric(figure, f"kafka_connect_task_{figure}", "counter", "rows", doc, also)


def _count(figure: str, doc: str, unit: str = "") -> TaskMetric:
    return TaskMetric(figure, f"kafka_connect_task_{figure}", "counter", unit, doc)


def _seconds(step: str, doc: str) -> TaskMetric:
    return TaskMetric(f"{step}_s_total", f"kafka_connect_task_{step}_seconds_total", "counter", "seconds", doc)


TASK_METRICS: Final = (
    _rows("polled_rows_total", "Rows read from the source or from Kafka, before transforms."),
    _rows("rows_total", "Rows delivered to Kafka or put into the sink, after transforms."),
    _count("bytes_total", "Bytes of keys and values written to or read from Kafka.", "bytes"),
    _count("batches_total", "Batches that went through the task."),
    _rows("errors_total", "Rows that failed in a converter, a transform or the sink.",
          "kafka_connect_task_error_total_record_failures"),
    _rows("dead_letters_total", "Rows whose write to the dead-letter topic was acknowledged.",
          "kafka_connect_task_error_deadletterqueue_produce_requests"),
    _rows("skipped_total", "Rows given up under errors.tolerance=all.",
          "kafka_connect_task_error_total_records_skipped"),
    _count("retries_total", "Calls made again after a retriable error."),
    _count("restarts_total", "Restarts of the task, automatic ones included."),
    _count("flush_failures_total", "Flushes that did not make offsets durable."),
    _seconds("poll", "Time in the source's poll or waiting for Kafka."),
    _seconds("transform", "Time in transforms."),
    _seconds("convert", "Time in converters and transforms."),
    _seconds("send", "Time handing rows to the producer."),
    _seconds("put", "Time in the sink's put."),
    _seconds("flush", "Time making rows and offsets durable."),
    TaskMetric("lag_rows", "kafka_connect_task_lag_rows", "gauge", "rows",
               "Rows in Kafka that the sink has not committed."),
    TaskMetric("lag_s", "kafka_connect_task_lag_seconds", "gauge", "seconds",
               "Age of the oldest row that the sink has read and not committed."),
    TaskMetric("source_lag_s", "kafka_connect_task_source_lag_seconds", "gauge", "seconds",
               "Age of the last time at which all that the source held is in Kafka; at first the age of the task."),
    TaskMetric("assigned_partitions", "kafka_connect_task_assigned_partitions", "gauge", "",
               "Topic partitions the sink task reads."),
    TaskMetric("last_flush_epoch_s", "kafka_connect_task_last_flush_timestamp_seconds", "gauge", "seconds",
               "When offsets were last made durable, as Unix time."),
    TaskMetric("host_cpu_s_total", "kafka_connect_task_host_cpu_seconds_total", "counter", "seconds",
               "CPU time of the task host that the task is in, which it may share with other tasks."),
    TaskMetric("host_memory_bytes", "kafka_connect_task_host_memory_bytes", "gauge", "bytes",
               "Memory of the task host that the task is in, as task.host.memory.limit counts it."),
)  # fmt: skip
ALERT_METRICS: Final = {
    "sent": "Alerts that the webhook took.",
    "failed": "Tries to send an alert that failed. What to do: the log says alert_waits with the reason; see to the "
              "receiver, or to alerts.webhook.url.",
    "dropped": "Alerts that nobody will hear of: too many waited, or the receiver refused them for good. What to do: "
               "see alert_dropped in the log, and look at /ui what needs a person.",
}  # fmt: skip
"""Says what each count of alerts means; their unit is alerts."""
_BY_FIGURE: Final = {metric.figure: metric for metric in TASK_METRICS}


@dataclass(frozen=True, slots=True)
class ConnectorStates:
    """Holds a connector's state and how many of its tasks are in which; states in lower case."""

    state: str
    tasks: Mapping[str, int]
    here: bool = True
    """True if the connector itself is on this worker."""


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """Holds all that a scrape shows.

    `tasks` is keyed by connector and task; `about` are the labels of kafka_connect_app_info. `alerts`: by the keys of
    ALERT_METRICS; empty where none are told.
    """

    about: Mapping[str, str]
    tasks: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    connectors: Mapping[str, ConnectorStates] = field(default_factory=dict)
    alerts: Mapping[str, float] = field(default_factory=dict)


def families(figures: WorkerFigures) -> Iterator[Metric]:
    """Yield Prometheus families of a worker's figures.

    A figure nobody declared is `kafka_connect_task_gauge{name=}`.
    """
    yield _gauge("kafka_connect_app_info", "What runs here.", figures.about, [(tuple(figures.about.values()), 1.0)])
    for metric in TASK_METRICS:
        samples = [(task, values[metric.figure]) for task, values in figures.tasks.items() if metric.figure in values]
        if samples:
            yield from _task_families(metric, samples)
    unknown = [
        ((*task, name), value)
        for task, values in figures.tasks.items()
        for name, value in values.items()
        if name not in _BY_FIGURE
    ]
    yield _gauge("kafka_connect_task_gauge", "Further figures of connectors.", (*TASK_LABELS, "name"), unknown)
    yield from _worker_families(figures)
    for count, value in figures.alerts.items():
        doc = f"{ALERT_METRICS[count]} Unit: alerts."
        yield CounterMetricFamily(f"kafka_connect_alerts_{count}_total", doc, value)


def _task_families(metric: TaskMetric, samples: list[tuple[tuple[str, str], float]]) -> Iterator[Metric]:
    doc = f"{metric.doc} Unit: {metric.unit}." if metric.unit else metric.doc
    if metric.kind == "gauge":
        yield _gauge(metric.name, doc, TASK_LABELS, samples)
    else:
        family = CounterMetricFamily(metric.name, doc, labels=TASK_LABELS)
        for labels, value in samples:
            family.add_metric(labels, value)
        yield family
    for name in metric.also:
        yield _gauge(name, doc, TASK_LABELS, samples)


def _worker_families(figures: WorkerFigures) -> Iterator[Metric]:
    here = [name for name, found in figures.connectors.items() if found.here]
    tasks = Counter({name: sum(found.tasks.values()) for name, found in figures.connectors.items()})
    for scope in ("worker", "coordinator_assigned"):
        connectors, task = ("connector_count", "task_count") if scope == "worker" else ("connectors", "tasks")
        doc = "of this worker."
        yield _gauge(f"kafka_connect_{scope}_{connectors}", f"Connectors {doc}", (), [((), float(len(here)))])
        yield _gauge(f"kafka_connect_{scope}_{task}", f"Tasks {doc}", (), [((), float(tasks.total()))])
    status = [((name, figures.connectors[name].state), 1.0) for name in here]
    yield _gauge("kafka_connect_connector_status", "The connector is in this state.", ("connector", "status"), status)
    total = [((name,), float(count)) for name, count in tasks.items()]
    yield _gauge("kafka_connect_worker_connector_total_task_count", "Tasks of this worker.", ("connector",), total)
    for state in STATES:
        samples = [((name,), float(found.tasks.get(state, 0))) for name, found in figures.connectors.items()]
        name = f"kafka_connect_worker_connector_{state}_task_count"
        yield _gauge(name, f"Tasks of this worker that are {state}.", ("connector",), samples)


def _gauge(
    name: str, doc: str, labels: Iterable[str], samples: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, doc, labels=tuple(labels))
    for values, value in samples:
        family.add_metric(values, value)
    return family
