"""Figures of tasks as Prometheus families."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from rest_client import Rest, ServerMaker

from connect.telemetry.metrics import ALERT_METRICS, TASK_METRICS, ConnectorStates, WorkerFigures, families

ABOUT = {"version": "4.1.0", "commit": "c"}


def text(figures: WorkerFigures) -> list[str]:
    class Once:
        def collect(self) -> object:
            return families(figures)

    registry = CollectorRegistry()
    registry.register(Once())  # type: ignore[arg-type]
    return generate_latest(registry).decode().splitlines()


def test_every_declared_figure_appears_under_its_names() -> None:
    lines = text(WorkerFigures(ABOUT, {("a", "0"): {metric.figure: 1.0 for metric in TASK_METRICS}}))
    for metric in TASK_METRICS:
        for name in (metric.name, *metric.also):
            assert f'{name}{{connector="a",task="0"}} 1.0' in lines
            assert f"# TYPE {name} {metric.kind if name == metric.name else 'gauge'}" in lines


def test_names_are_unique_and_say_their_unit() -> None:
    names = [name for metric in TASK_METRICS for name in (metric.name, *metric.also)]
    assert len(names) == len(set(names))
    assert all(metric.name.endswith("_total") for metric in TASK_METRICS if metric.kind == "counter")
    assert all("second" in metric.name for metric in TASK_METRICS if metric.unit == "seconds")


def test_a_figure_that_nobody_declared_is_a_gauge_by_name() -> None:
    lines = text(WorkerFigures(ABOUT, {("a", "0"): {"rows_remaining": 5.0}}))
    assert 'kafka_connect_task_gauge{connector="a",name="rows_remaining",task="0"} 5.0' in lines


def test_odd_names_are_escaped() -> None:
    lines = text(WorkerFigures(ABOUT, {('a"\n\\', "0"): {"rows_total": 1.0}}))
    assert 'kafka_connect_task_rows_total{connector="a\\"\\n\\\\",task="0"} 1.0' in lines


def test_what_dashboards_read_of_a_worker() -> None:
    here = ConnectorStates("running", {"running": 2, "failed": 1})
    elsewhere = ConnectorStates("running", {"running": 1}, here=False)
    lines = text(WorkerFigures(ABOUT, connectors={"a": here, "b": elsewhere}))
    for line in (
        'kafka_connect_app_info{commit="c",version="4.1.0"} 1.0',
        "kafka_connect_worker_connector_count 1.0",
        "kafka_connect_worker_task_count 4.0",
        "kafka_connect_coordinator_assigned_connectors 1.0",
        "kafka_connect_coordinator_assigned_tasks 4.0",
        'kafka_connect_connector_status{connector="a",status="running"} 1.0',
        'kafka_connect_worker_connector_failed_task_count{connector="a"} 1.0',
        'kafka_connect_worker_connector_paused_task_count{connector="b"} 0.0',
    ):
        assert line in lines
    assert 'kafka_connect_connector_status{connector="b",status="running"} 1.0' not in lines


def test_a_scrape_of_a_worker_without_connectors(rest: Rest) -> None:
    lines = rest("GET", "/metrics").text.splitlines()
    assert "kafka_connect_worker_connector_count 0.0" in lines


def test_a_worker_with_a_webhook_counts_its_alerts_and_another_has_no_counts(serve: ServerMaker) -> None:
    lines = serve(worker={"alerts.webhook.url": "http://127.0.0.1:1/x"})("GET", "/metrics").text.splitlines()
    for count in ALERT_METRICS:
        assert f"kafka_connect_alerts_{count}_total 0.0" in lines
    assert "kafka_connect_alerts" not in serve()("GET", "/metrics").text
