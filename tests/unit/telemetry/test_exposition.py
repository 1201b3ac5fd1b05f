"""The text of a scrape is the library's, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric

from connect.telemetry.exposition import exposition
from connect.telemetry.metric_families import ConnectorStates, WorkerFigures, families
from connect.telemetry.metrics import ALERT_METRICS, LATENCY, TASK_METRICS, WORKER_METRICS

HOSTILE = 'a"\n\\ünï 🚰\u202e{}='


def test_the_text_equals_the_librarys_also_with_odd_names_and_values() -> None:
    values = [0.0, 1.5, 1e300, -3.0, float("nan"), float("inf"), 1_700_000_000.123]
    task = {metric.figure: values[i % len(values)] for i, metric in enumerate(TASK_METRICS)}
    latency = {f"{LATENCY.figure}_le_0.5": 3.0, f"{LATENCY.figure}_le_+Inf": 4.0, f"{LATENCY.figure}_sum_s": 9.5}
    figures = WorkerFigures(
        {"version": HOSTILE, "commit": ""},
        tasks={(HOSTILE, "0"): {**task, **latency, "own figure": 2.0}, ("plain", "1"): task},
        connectors={HOSTILE: ConnectorStates("running", {"0": "failed"}, kind="sink", plugin=HOSTILE)},
        alerts=dict.fromkeys(ALERT_METRICS, 1.0),
        worker={metric.figure: 1.0 for metric in WORKER_METRICS},
        leader=HOSTILE,
    )

    class Once:
        def collect(self) -> Iterator[Metric]:
            return families(figures)

    registry = CollectorRegistry()
    registry.register(Once())  # type: ignore[arg-type]  # it has what the registry calls
    assert exposition(families(figures)) == generate_latest(registry)
