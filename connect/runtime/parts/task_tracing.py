"""Traces the tasks of one host where tracing is on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures
from connect.telemetry.tracing import is_switched_on, tracer_provider

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SEND_SPANS_MS: Final = 1000


class TaskTracing:
    """Makes the figures of tasks, which trace them too where tracing is on. Task threads call its methods."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker

    def figures(self, task: TaskId, on_stage: Callable[[str], None] | None) -> TaskFigures:
        """Return the figures of a task, which trace it if tracing is on. ConfigError: its packages are missing."""
        if self._provider is None:
            return TaskFigures(on_stage)
        from connect.runtime.task.traced_metrics import TracedFigures

        attributes = {"connect.connector": task.connector, "connect.task": str(task.task)}
        return TracedFigures(on_stage, self._provider.get_tracer("connect"), attributes)

    def send_spans(self) -> None:
        """Send the spans so far: a host may end without notice."""
        if self._provider is not None:
            self._provider.force_flush(SEND_SPANS_MS)

    def close(self) -> None:
        """Send the spans that are left."""
        if self._provider is not None:
            self._provider.shutdown()

    @cached_property
    def _provider(self) -> TracerProvider | None:
        if not is_switched_on(self._worker.tracing_enabled):
            return None
        return tracer_provider(f"connect-{self._worker.group_id}")
