"""Records the steps of a task also as spans: one trace per batch, joined to the traces that its rows carry (W3C).

| span | parent |
| --- | --- |
| connect.batch | the trace of the rows where all carry the same `traceparent`; else it links to theirs |
| poll, convert, transform, produce, put | connect.batch |
| flush | none: it is of many batches |
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connect.kafka.raw import RawBatch, RawHeaders
from connect.runtime.task.task_metrics import TaskFigures

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Tracer

TRACEPARENT: Final = "traceparent"
MOST_LINKS: Final = 32
_SPANS: Final[Mapping[str, str]] = {"send": "produce"}


class TracedFigures(TaskFigures):
    """Counts what a task does, and traces it. Owned by the task thread, as is the current span."""

    def __init__(self, on_stage: Callable[[str], None] | None, tracer: Tracer, attributes: Mapping[str, str]) -> None:
        super().__init__(on_stage)
        self._tracer = tracer
        self._attributes = dict(attributes)
        self._polled_ns: tuple[int, int] | None = None

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time a stage as without tracing, and make it a span.

        The span of a poll begins with the batch that it gave. Polls without a batch, which most are, have none.
        """
        stage = name.removesuffix("_s_total")
        if stage == "poll":
            start_ns = time.time_ns()
            with super().timed(name):
                yield
            self._polled_ns = (start_ns, time.time_ns())
            return
        with self.span(_SPANS.get(stage, stage)), super().timed(name):
            yield

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Open a span below the current one."""
        with self._tracer.start_as_current_span(name, attributes=self._attributes):
            yield

    @contextmanager
    def batch(self, topic: str, rows: int, headers: Iterable[RawHeaders]) -> Iterator[None]:
        """Make a span of all that happens to a batch."""
        parents = _parents(headers)
        context, links = _joined(parents)
        attributes: dict[str, str | int] = {
            **self._attributes, "messaging.system": "kafka", "messaging.destination.name": topic,
            "messaging.batch.message_count": rows,
        }  # fmt: skip
        with self._tracer.start_as_current_span("connect.batch", context, attributes=attributes, links=links):
            polled, self._polled_ns = self._polled_ns, None
            if polled is not None:
                span = self._tracer.start_span("poll", attributes=self._attributes, start_time=polled[0])
                span.end(polled[1])
            yield

    def stamped(self, raw: RawBatch) -> RawBatch:
        """Return the rows with the current trace for those that carry none."""
        from opentelemetry import trace

        current = trace.get_current_span().get_span_context()
        if not current.is_valid:
            return raw
        own = (TRACEPARENT, f"00-{current.trace_id:032x}-{current.span_id:016x}-{current.trace_flags:02x}".encode())
        if raw.headers is None:
            return replace(raw, headers=[[own]] * len(raw))
        return replace(
            raw, headers=[row if any(key == TRACEPARENT for key, _ in row) else [*row, own] for row in raw.headers]
        )


def _parents(headers: Iterable[RawHeaders]) -> list[str]:
    """Return the distinct traces that the rows carry, at most one more than there may be links."""
    found: dict[str, None] = {}
    for row in headers:
        for key, value in row:
            if key == TRACEPARENT and value is not None:
                found.setdefault(value.decode(errors="replace"))
        if len(found) > MOST_LINKS:
            break
    return list(found)


def _joined(parents: list[str]) -> tuple[Context | None, list[Link]]:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    propagator = TraceContextTextMapPropagator()
    contexts = [propagator.extract({TRACEPARENT: parent}) for parent in parents[:MOST_LINKS]]
    if len(contexts) == 1:
        return contexts[0], []
    spans = [trace.get_current_span(context).get_span_context() for context in contexts]
    return None, [trace.Link(span) for span in spans if span.is_valid]
