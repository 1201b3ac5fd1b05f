"""Describes every metric, and tells where each metric of Kafka Connect is found here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.telemetry.java_metrics import JAVA_INFOS, JAVA_TASK_METRICS, JAVA_WORKER_METRICS, WITHOUT_VALUE
from connect.telemetry.metric_families import BackfillFigures, ConnectorStates, WorkerFigures, families
from connect.telemetry.metrics import (
    ALERT_METRICS,
    BACKFILL_METRICS,
    KAFKA_METRICS,
    LATENCY,
    TASK_METRICS,
    WORKER_METRICS,
)
from connect.tools.reference.markdown import code, escaped, table

_OURS: Final = """\
`GET /metrics` of a worker, and of an agent with `--metrics`. "Of late" is the last 30 to 60 seconds. Dashboards and
rules for Prometheus are in `docker/observability/`.
"""
_OTLP: Final = """\
`OTEL_METRICS_EXPORTER=otlp`, or `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`, has a worker send the same by OpenTelemetry's
protocol (`pip install 'connect-for-kafka[tracing]'`), without the histogram and Java's names.
"""
_JAVA: Final = """\
The names are those that Prometheus' JMX exporter gives by its usual rules for Connect, with the same labels: existing
dashboards and alerts go on.
"""


def metric_lines() -> list[str]:
    """Return the lines of both tables: our names with their meaning, and Java's names with ours."""
    names = ("metric", "type", "labels", "what it says")
    java = {metric.name for metric in (*JAVA_TASK_METRICS, *JAVA_WORKER_METRICS)}
    own = [row for row in _rows() if row[0].strip("`") not in java]
    return [
        _OURS, _OTLP, *table(names, own), "### Kafka Connect's own metrics", "", _JAVA,
        *table(("group", "attribute", "metric", "what it says"), _java_rows()),
        "These have no value here:", "",
        *table(("group", "attribute", "why"), [
            (code(group), code(attribute), escaped(why)) for (group, attribute), why in WITHOUT_VALUE.items()
        ]),
    ]  # fmt: skip


def _rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each family of metrics that a worker can show; they are found by showing figures of each kind."""
    figures = [metric.figure for metric in TASK_METRICS]
    latency = [f"{LATENCY.figure}_le_+Inf", f"{LATENCY.figure}_sum_s"]
    shown = WorkerFigures(
        about=dict.fromkeys(("version", "commit", "kafka_cluster_id", "group_id"), ""),
        tasks={("connector", "0"): dict.fromkeys([*figures, *latency, "figure of a connector"], 0.0)},
        alerts=dict.fromkeys(ALERT_METRICS, 0.0),
        connectors={"connector": ConnectorStates("running", {"0": "running"})},
        worker=dict.fromkeys((metric.figure for metric in (*WORKER_METRICS, *KAFKA_METRICS)), 0.0),
        leader="leader",
        backfills={"job": BackfillFigures("running", dict.fromkeys((m.figure for m in BACKFILL_METRICS), 0.0))},
    )
    for family in families(shown):
        labels = sorted({label for sample in family.samples for label in sample.labels})
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield code(name), family.type, ", ".join(map(code, labels)), escaped(family.documentation)


def _java_rows() -> Iterator[tuple[str, str, str, str]]:
    for metric in (*JAVA_TASK_METRICS, *JAVA_WORKER_METRICS):
        yield code(metric.group), code(metric.attribute), code(metric.name), escaped(metric.meaning)
    for (group, attribute), name in JAVA_INFOS.items():
        yield (
            code(group),
            code(attribute),
            code(name),
            "The text is a label, or there is one number for each connector.",
        )
