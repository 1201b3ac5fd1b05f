"""Checks spans of a task: one trace per batch, joined to the rows' own; nothing at all where tracing is off."""

from __future__ import annotations

import subprocess
import sys
import time

import pyarrow as pa
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from connect.api.errors import ConfigError
from connect.kafka.raw import RawBatch
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.traced_metrics import TracedFigures
from connect.telemetry.otlp_metrics import OFF
from connect.telemetry.tracing import check_installed, is_switched_on

ROW = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def figures(spans: InMemorySpanExporter) -> TracedFigures:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return TracedFigures(None, provider.get_tracer("t"), {"connect.connector": "c"})


def headers(*parents: str | None) -> list:
    return [[] if parent is None else [("traceparent", parent.encode())] for parent in parents]


def one_batch(figures: TaskFigures, rows: list) -> RawBatch:
    with figures.timed("poll_s_total"):
        pass
    with figures.batch("orders", len(rows), rows), figures.timed("convert_s_total"):
        with figures.span("transform"):
            pass
        return figures.stamped(RawBatch("out", pa.array([b"v"] * len(rows), pa.binary()), headers=rows or None))


def test_the_steps_of_a_batch_are_one_trace(figures, spans):
    one_batch(figures, headers(None, None))
    found = {span.name: span for span in spans.get_finished_spans()}
    assert set(found) == {"connect.batch", "poll", "convert", "transform"}
    whole = found["connect.batch"].context
    assert {span.context.trace_id for span in found.values()} == {whole.trace_id}
    assert found["poll"].parent.span_id == found["convert"].parent.span_id == whole.span_id
    assert found["transform"].parent.span_id == found["convert"].context.span_id
    assert found["connect.batch"].attributes["messaging.batch.message_count"] == 2
    assert found["poll"].attributes["connect.connector"] == "c"
    assert figures.snapshot()["convert_s_total"] > 0


def test_a_trace_that_all_rows_share_goes_on_and_is_kept(figures, spans):
    raw = one_batch(figures, headers(ROW, ROW))
    (whole,) = [span for span in spans.get_finished_spans() if span.name == "connect.batch"]
    assert f"{whole.context.trace_id:032x}" == ROW.split("-")[1]
    assert f"{whole.parent.span_id:016x}" == ROW.split("-")[2]
    assert raw.headers == headers(ROW, ROW)


def test_several_traces_are_linked_and_rows_without_one_get_the_batchs(figures, spans):
    raw = one_batch(figures, headers(ROW, None, OTHER))
    (whole,) = [span for span in spans.get_finished_spans() if span.name == "connect.batch"]
    assert {f"{link.context.trace_id:032x}" for link in whole.links} == {ROW.split("-")[1], OTHER.split("-")[1]}
    assert raw.headers[0] == headers(ROW)[0]
    name, value = raw.headers[1][0]
    assert name == "traceparent"
    assert value.decode().split("-")[1] == f"{whole.context.trace_id:032x}"


def test_a_step_that_fails_is_marked(figures, spans):
    with pytest.raises(ValueError, match="no"), figures.timed("put_s_total"):
        raise ValueError("no")
    (span,) = spans.get_finished_spans()
    assert (span.name, span.status.is_ok) == ("put", False)


def test_switched_off_it_costs_nothing():
    figures, rows = TaskFigures(), headers(None)
    raw = RawBatch("out", pa.array([b"v"], pa.binary()))
    assert figures.stamped(raw) is raw
    assert figures.batch("t", 1, rows) is figures.batch("t", 1, rows)
    start_s = time.process_time()
    for _ in range(100_000):
        with figures.batch("t", 1, rows), figures.span("transform"):
            figures.stamped(raw)
    # Under 10 microseconds for a batch of up to 50,000 rows, on any machine.
    assert time.process_time() - start_s < 1.0


def test_switched_off_nothing_is_imported():
    code = "import sys, connect.runtime.host.host, connect.runtime.host.task_run; print('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("setting", "environment", "on"),
    [
        (None, {}, False),
        (True, {}, True),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        (None, {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
        (False, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
        (True, {"OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_setting_counts_before_the_environment(setting, environment, on):
    assert is_switched_on(setting, environment) is on


@pytest.mark.parametrize(("off", "key"), [("tracing.enabled=false", "tracing.enabled"), (OFF, "OTEL_METRICS_EXPORTER")])
def test_a_missing_package_is_named_with_what_to_install_or_to_set(monkeypatch, off, key):
    check_installed(off)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"opentelemetry\.sdk is missing") as told:
        check_installed(off)
    assert told.value.key == key
    assert str(told.value).endswith(f"Run: pip install 'connect-for-kafka[tracing]', or set {off}.")
