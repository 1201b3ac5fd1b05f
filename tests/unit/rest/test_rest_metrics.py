"""Checks figures of tasks as families of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from rest_client import Rest, ServerMaker

from connect.telemetry.java_metrics import JAVA_TASK_METRICS, JAVA_WORKER_METRICS
from connect.telemetry.metric_families import ConnectorStates, WorkerFigures, families
from connect.telemetry.metrics import ALERT_METRICS, TASK_METRICS

ABOUT = {"version": "4.1.0", "commit": "c"}


def text(figures: WorkerFigures) -> list[str]:
    class Once:
        def collect(self) -> object:
            return families(figures)

    registry = CollectorRegistry()
    registry.register(Once())  # type: ignore[arg-type]
    return generate_latest(registry).decode().splitlines()


SOURCE = ConnectorStates("running", {"0": "running"}, kind="source", plugin="a.Source", version="1.0")
SINK = ConnectorStates("running", {"0": "running", "1": "failed"}, kind="sink", plugin="b.Sink", version="2.0")


def test_every_declared_figure_appears_under_its_name() -> None:
    lines = text(WorkerFigures(ABOUT, {("a", "0"): {metric.figure: 1.0 for metric in TASK_METRICS}}))
    for metric in TASK_METRICS:
        assert f'{metric.name}{{connector="a",task="0"}} 1.0' in lines
        assert f"# TYPE {metric.name} {metric.kind}" in lines


def test_every_figure_of_java_appears_under_the_exporters_name_where_its_kind_of_task_has_it() -> None:
    values = {metric.figure: 2.0 for metric in JAVA_TASK_METRICS}
    lines = text(WorkerFigures(ABOUT, {("a", "0"): values, ("b", "1"): values}, {"a": SOURCE, "b": SINK}))
    for metric in JAVA_TASK_METRICS:
        shown = {
            task
            for task in ('connector="a",task="0"', 'connector="b",task="1"')
            if f"{metric.name}{{{task}}} {2.0 * metric.factor}" in lines
        }
        kinds = {'connector="a",task="0"': "source", 'connector="b",task="1"': "sink"}
        assert shown == {task for task, kind in kinds.items() if metric.tasks_of in {"", kind}}, metric.name
    for line in (
        'kafka_connect_sink_task_sink_record_read_total{connector="b",task="1"} 2.0',
        'kafka_connect_source_task_source_record_poll_total{connector="a",task="0"} 2.0',
        'kafka_connect_sink_task_put_batch_avg_time_ms{connector="b",task="1"} 2000.0',
        'kafka_connect_task_error_total_record_failures{connector="a",task="0"} 2.0',
        'kafka_connect_connector_connector_class{connector="a",connector_class="a.Source"} 1.0',
        'kafka_connect_connector_task_status{connector="b",status="failed",task="1"} 1.0',
    ):
        assert line in lines


def test_every_figure_of_a_worker_appears_under_the_exporters_name() -> None:
    values = {metric.figure: 3.0 for metric in JAVA_WORKER_METRICS}
    lines = text(WorkerFigures(ABOUT, worker=values, leader="w1:8083"))
    for metric in JAVA_WORKER_METRICS:
        assert f"{metric.name} {3.0 * metric.factor}" in lines
    assert 'kafka_connect_worker_rebalance_leader_name{leader_name="w1:8083"} 1.0' in lines
    assert "kafka_connect_worker_connector_startup_failure_percentage 3.0" in lines


def test_latency_is_a_histogram() -> None:
    task = {"latency_le_0.5": 3.0, "latency_le_+Inf": 5.0, "latency_sum_s": 9.0}
    lines = text(WorkerFigures(ABOUT, {("a", "0"): task}))
    name = "kafka_connect_task_latency_seconds"
    assert f"# TYPE {name} histogram" in lines
    assert f'{name}_bucket{{connector="a",le="0.5",task="0"}} 3.0' in lines
    assert f'{name}_count{{connector="a",task="0"}} 5.0' in lines
    assert f'{name}_sum{{connector="a",task="0"}} 9.0' in lines
    assert not [line for line in lines if line.startswith("kafka_connect_task_gauge{")]


def test_names_are_unique_and_say_their_unit() -> None:
    names = [metric.name for metric in (*TASK_METRICS, *JAVA_TASK_METRICS, *JAVA_WORKER_METRICS)]
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
    here = ConnectorStates("running", {"0": "running", "1": "running", "2": "failed"})
    elsewhere = ConnectorStates("running", {"0": "running"}, here=False)
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
