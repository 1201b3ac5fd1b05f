"""A receiver of alerts, or a collector of spans, that wants a worker's memory, time, login or terminal gets neither."""

from __future__ import annotations

import resource
import time

import pytest
from hostile_http import ENDLESS, Handler, HostileServer, hostile, redirect, say
from hostile_texts import ANSI
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from connect.alerts import webhook
from connect.alerts.changes import Event
from connect.alerts.facts import Alert, Kind, Subject
from connect.alerts.webhook import Origin, UndeliveredError, Webhook
from connect.telemetry import collector_session, tracing

pytestmark = pytest.mark.attacks

MOST_MEMORY_MIB = 200
SOON_S = 8.0
"""An alert is delivered in less time than its receiver may take, which is ten seconds."""
BODIES = {"1 GiB", "bomb", "chunks", "slow body"}
"""These answers begin with a status of success, and it is their body that has no end."""
EVENT = Event(Alert(Subject(Kind.LAG, "c"), "boom", 1), False, 2, "boom")
PATH = "/services/T0-Kx7-receiver-9Qz"
LOGIN = "Kx7-collector-9Qz"


def undelivered(server: HostileServer) -> str:
    """Return the error of an alert that its receiver does not take."""
    sender = Webhook(server.url + PATH, "json", "Kx7-signing-9Qz", Origin("workers", ""))
    try:
        with pytest.raises(UndeliveredError) as told:
            sender.deliver(EVENT)
    finally:
        sender.close()
    return str(told.value)


def memory_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@pytest.mark.parametrize("name", sorted({*ENDLESS} - BODIES))
def test_an_endless_answer_is_given_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_TIMEOUT_S", 1.0)
    before = memory_mib()
    with hostile(ENDLESS[name]) as server:
        assert len(undelivered(server)) <= 1000
    assert memory_mib() - before < MOST_MEMORY_MIB


@pytest.mark.parametrize("name", sorted(BODIES))
def test_nobody_reads_the_body_behind_a_status_that_takes_the_alert(name: str) -> None:
    before = memory_mib()
    with hostile(ENDLESS[name]) as server:
        sender, began_s = Webhook(server.url + PATH, "json", "Kx7-signing-9Qz", Origin("workers", "")), time.monotonic()
        sender.deliver(EVENT)
        sender.close()
        took_s = time.monotonic() - began_s
        assert len(server.asked) == 1
    assert took_s < SOON_S
    assert memory_mib() - before < MOST_MEMORY_MIB


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_no_alert_elsewhere(status: int) -> None:
    with hostile(say({})) as other, hostile(redirect(f"{other.url}/x", status)) as server:
        assert f"HTTP {status}" in undelivered(server)
        assert other.asked == []


def test_what_a_receiver_says_is_short_steers_no_terminal_and_tells_no_secret() -> None:
    def answer(to: Handler) -> None:
        to.wfile.write(f"HTTP/1.1 500 {ANSI} {PATH} {'x' * 30_000}\r\nContent-Length: 0\r\n\r\n".encode())

    with hostile(answer) as server:
        told = undelivered(server)
    assert told.isprintable(), ascii(told[:200])
    assert len(told) <= 1000
    assert PATH not in told


def exported(server: HostileServer, monkeypatch: pytest.MonkeyPatch) -> SpanExportResult:
    """What becomes of a span that is sent to a collector, by the exporter that a worker makes."""
    made: list[OTLPSpanExporter] = []
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{server.url}/v1/traces")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={LOGIN}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    monkeypatch.setattr(collector_session, "_ANSWER_S", 1.0)
    monkeypatch.setattr("opentelemetry.sdk.trace.export.BatchSpanProcessor.__init__", lambda _, one: made.append(one))
    monkeypatch.setattr(TracerProvider, "add_span_processor", lambda *_: None)
    tracing.tracer_provider("worker")
    span = TracerProvider().get_tracer("test").start_span("s")
    span.end()
    return made[0].export([span])  # type: ignore[list-item]  # A span that has ended is a ReadableSpan.


@pytest.mark.parametrize("name", sorted({*ENDLESS} - {"interim answers"}))
def test_an_endless_answer_of_a_collector_takes_little_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = memory_mib()
    with hostile(ENDLESS[name]) as server:
        exported(server, monkeypatch)
        assert server.asked
    assert memory_mib() - before < MOST_MEMORY_MIB


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_no_span_and_no_login_elsewhere(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with hostile(say({})) as other, hostile(redirect(f"{other.url}/x", status)) as server:
        assert exported(server, monkeypatch) is SpanExportResult.FAILURE
        assert server.asked[0][2]["api-key"] == LOGIN
        assert other.asked == []
