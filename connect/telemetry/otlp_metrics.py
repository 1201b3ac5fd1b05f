"""Sends a worker's metrics by OpenTelemetry's protocol, by the same declarations as `GET /metrics` has.

Nothing of OpenTelemetry is imported where that is off. The histogram, alerts, states of connectors and Java's names are
in Prometheus' text alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from connect.telemetry.metric_families import BACKFILL_LABELS, TASK_LABELS, WorkerFigures
from connect.telemetry.metrics import BACKFILL_METRICS, KAFKA_METRICS, TASK_METRICS, WORKER_METRICS, Metric
from connect.telemetry.tracing import check_installed

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider

SWITCHES: Final = ("OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
"""One of these in the environment switches the sending on; OTEL_EXPORTER_OTLP_ENDPOINT alone is for spans here."""
OFF: Final = f"{SWITCHES[0]}=none"
"""This in the environment switches it off, whatever else is there."""
Figures = Callable[[], WorkerFigures]


def is_sent(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell if metrics are sent, by OpenTelemetry's own environment."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get(SWITCHES[0]) == "none":
        return False
    return environment.get(SWITCHES[0]) == "otlp" or bool(environment.get(SWITCHES[1]))


def meter_provider(service: str, instance: str, figures: Figures) -> MeterProvider:
    """Return a provider that asks for the figures every OTEL_METRIC_EXPORT_INTERVAL and sends them, until it is shut.

    `service` is the service's name unless OTEL_SERVICE_NAME gives one. ConfigError: a package is missing.
    """
    check_installed(OFF)
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource

    from connect.telemetry.collector_session import CollectorSession

    about = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or service, "service.instance.id": instance}
    provider = MeterProvider(
        [PeriodicExportingMetricReader(OTLPMetricExporter(session=CollectorSession()))], Resource.create(about)
    )
    meter = provider.get_meter("connect")
    for metrics, observe in (
        (TASK_METRICS, _of_tasks),
        ((*WORKER_METRICS, *KAFKA_METRICS), _of_worker),
        (BACKFILL_METRICS, _of_backfills),
    ):
        for metric in metrics:
            make = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
            make(metric.name, [_observer(metric, figures, observe)], metric.unit, metric.doc)
    return provider


def _observer(
    metric: Metric, figures: Figures, observe: Callable[[Metric, WorkerFigures], Iterable[Observation]]
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: observe(metric, figures())


def _of_tasks(metric: Metric, figures: WorkerFigures) -> Iterable[Observation]:
    from opentelemetry.metrics import Observation

    for task, found in figures.tasks.items():
        if metric.figure in found:
            yield Observation(found[metric.figure], dict(zip(TASK_LABELS, task, strict=True)))


def _of_worker(metric: Metric, figures: WorkerFigures) -> Iterable[Observation]:
    from opentelemetry.metrics import Observation

    if metric.figure in figures.worker:
        yield Observation(figures.worker[metric.figure])


def _of_backfills(metric: Metric, figures: WorkerFigures) -> Iterable[Observation]:
    from opentelemetry.metrics import Observation

    for name, found in figures.backfills.items():
        if metric.figure in found.figures:
            yield Observation(found.figures[metric.figure], {BACKFILL_LABELS[0]: name})
