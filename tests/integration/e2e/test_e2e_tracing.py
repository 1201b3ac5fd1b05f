"""Checks spans and trace headers of a real worker as a collector receives them, and what a topic does not take."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_collector import receiving
from test_e2e_letters import STRING, everything


@pytest.fixture
def collector(monkeypatch) -> Iterator[list]:
    """All spans that arrive by OTLP over HTTP."""
    spans: list = []

    def take(body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        spans.extend(s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans)

    with receiving(take) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        yield spans


def test_a_row_is_traced_from_source_to_sink(collector, kafka, tmp_path, unique):
    topic, path, out = f"{unique}-t", tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text("one\ntwo\n")
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    plain = {"key.converter": STRING, "value.converter": STRING}
    try:
        worker.start()
        source = {"connector.class": "FileStreamSource", "file": str(path), "topic": topic, **plain}
        sink = {"connector.class": "FileStreamSink", "file": str(out), "topics": topic, **plain}
        assert worker.create("in", source).status_code == 201
        assert worker.create("out", sink).status_code == 201
        wait_for(lambda: out.exists() and out.read_text() == "one\ntwo\n", 60, "the lines")
        for name in ("in", "out"):
            worker.call("DELETE", name)
        wait_for(lambda: {s.name for s in collector} >= {"put", "produce", "poll", "flush"}, 60, "the spans")
    finally:
        worker.stop()
    carried = {dict(m.headers())["traceparent"].decode().split("-")[1] for m in everything(kafka, topic)}
    (trace,) = carried
    steps = {s.name for s in collector if s.trace_id.hex() == trace}
    assert steps >= {"connect.batch", "poll", "convert", "transform", "produce", "put"}


def test_what_a_topic_does_not_take_is_told_with_both_limits(worker, kafka, tmp_path, unique):
    topic, path = f"{unique}-small", tmp_path / "in.txt"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1, config={"max.message.bytes": "1000"})])[topic].result(30)
    path.write_text("x" * 5000 + "\n")
    config = {
        "connector.class": "FileStreamSource", "file": str(path), "topic": topic, "value.converter": STRING,
        "auto.restart.enabled": "false",
    }  # fmt: skip
    assert worker.create(unique, config).status_code == 201
    trace = worker.wait_for_tasks(unique, "FAILED")["tasks"][0]["trace"]
    assert "The producer takes max.request.size=1048576 bytes" in trace
    assert f"topic {topic} max.message.bytes=1000." in trace
    worker.call("DELETE", unique)
