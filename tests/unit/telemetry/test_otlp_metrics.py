"""Checks metrics as a collector of OpenTelemetry receives them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from otlp_collector import receiving

from connect.telemetry.metric_families import BackfillFigures, WorkerFigures, families
from connect.telemetry.metrics import BACKFILL_METRICS, KAFKA_METRICS, TASK_METRICS, WORKER_METRICS
from connect.telemetry.otlp_metrics import is_sent, meter_provider


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ExportMetricsServiceRequest]]:
    requests: list[ExportMetricsServiceRequest] = []

    with receiving(lambda body: requests.append(ExportMetricsServiceRequest.FromString(body))) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{url}/v1/metrics")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        yield requests


def test_every_declared_metric_is_sent_with_unit_meaning_and_labels(
    collector: list[ExportMetricsServiceRequest],
) -> None:
    figures = WorkerFigures(
        {},
        tasks={("orders", "3"): {metric.figure: 2.5 for metric in TASK_METRICS}},
        worker={metric.figure: 4.0 for metric in (*WORKER_METRICS, *KAFKA_METRICS)},
        backfills={"flights": BackfillFigures("running", {metric.figure: 4.0 for metric in BACKFILL_METRICS})},
    )
    provider = meter_provider("connect-group", "w1:8083", lambda: figures)
    assert provider.force_flush(60_000)
    provider.shutdown()

    (resource,) = collector[0].resource_metrics
    about = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert (about["service.name"], about["service.instance.id"]) == ("connect-group", "w1:8083")
    sent = {one.name: one for scope in resource.scope_metrics for one in scope.metrics}
    declared = {metric.name: metric for metric in (*TASK_METRICS, *WORKER_METRICS, *KAFKA_METRICS, *BACKFILL_METRICS)}
    assert sent.keys() == declared.keys()
    for name, metric in declared.items():
        assert (sent[name].description, sent[name].unit) == (metric.doc, metric.unit)
        points = (sent[name].sum if metric.kind == "counter" else sent[name].gauge).data_points
        assert [point.as_double for point in points] == [2.5 if metric in TASK_METRICS else 4.0]
        assert sent[name].sum.is_monotonic == (metric.kind == "counter")
    labels = sent["kafka_connect_task_rows_total"].sum.data_points[0].attributes
    assert {one.key: one.value.string_value for one in labels} == {"connector": "orders", "task": "3"}
    labels = sent["kafka_connect_backfill_done_rows"].gauge.data_points[0].attributes
    assert {one.key: one.value.string_value for one in labels} == {"backfill": "flights"}


def test_opentelemetry_and_prometheus_are_told_the_same_values(collector: list[ExportMetricsServiceRequest]) -> None:
    own = (*WORKER_METRICS, *KAFKA_METRICS)
    figures = WorkerFigures(
        {},
        tasks={("orders", "3"): {metric.figure: 0.25 + number for number, metric in enumerate(TASK_METRICS)}},
        worker={metric.figure: 0.75 + number for number, metric in enumerate(own)},
    )
    provider = meter_provider("connect-group", "w1:8083", lambda: figures)
    assert provider.force_flush(60_000)
    provider.shutdown()

    (resource,) = collector[0].resource_metrics
    sent = {}
    for one in (metric for scope in resource.scope_metrics for metric in scope.metrics):
        (point,) = one.sum.data_points or one.gauge.data_points
        labels = {label.key: label.value.string_value for label in point.attributes}
        sent[one.name, tuple(labels.items())] = point.as_double
    scraped = {
        (sample.name, tuple(sample.labels.items())): sample.value
        for family in families(figures)
        for sample in family.samples
    }
    assert {place: scraped[place] for place in sent} == sent


@pytest.mark.parametrize(
    ("environment", "sends"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://spans"}, False),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x", "OTEL_METRICS_EXPORTER": "none"}, False),
        ({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_metrics_are_sent_where_the_environment_asks_for_metrics(environment: dict[str, str], sends: bool) -> None:
    assert is_sent(environment) is sends
