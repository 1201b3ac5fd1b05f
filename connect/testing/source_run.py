"""Drives one life of a source: from open to close, or to a crash.

Keeps what the tasks gave; decides nothing about right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from connect.api.allowed_paths import EVERYWHERE
from connect.api.connector import Connector, ResumingConnector, SourceTask
from connect.api.plugin import Plugin
from connect.api.records import Batch, SourcePosition, batches_of
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore, Rejected
from connect.testing.task_thread import CALL_LIMIT_S, TaskThread

POLL_S = 1.0
FIRST_POLL_S = 0.1
DEADLINE_FIX = "Give the deadline to every wait, query and request."
V = TypeVar("V")


def leave_everywhere(config: Mapping[str, V]) -> dict[str, V | str]:
    """Return the configuration with leave for any file: the suite's author wrote it, and no worker's file is there."""
    return {**config, **EVERYWHERE}


def build_connector(plugin: Plugin, config: Mapping[str, str]) -> Connector:
    """Return the connector of a configuration, as the framework builds it: parsed, then given to the factory."""
    import importlib

    module, _, attribute = plugin.factory.partition(":")
    factory: Any = getattr(importlib.import_module(module), attribute)
    return cast("Connector", factory(plugin.config.parse(leave_everywhere(config))))


@dataclass
class SourceRun:
    """Drives the tasks of a source on one thread, over an offset store.

    Batches and rejected rows are kept in their order.
    """

    plugin: Plugin
    config: Mapping[str, str]
    store: OffsetStore = field(default_factory=OffsetStore)
    max_tasks: int = 1
    batches: list[Batch] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thread = TaskThread("source")
        self.tasks: list[SourceTask] = []
        self._next = 0

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def open(self) -> Self:
        """Plan the tasks and open each. A task whose `open` fails is closed, and the error raised."""
        connector = self._call("factory", lambda: build_connector(self.plugin, self.config))
        if isinstance(connector, ResumingConnector):
            self._call("resume", partial(connector.resume, self.store.positions()))
        for number, config in enumerate(self._call("task_configs", lambda: connector.task_configs(self.max_tasks))):
            task = cast("SourceTask", self._call("task", partial(connector.task, leave_everywhere(config))))
            self.tasks.append(task)
            context = FakeSourceContext(task=number, store=self.store, rejected=self.rejected)
            try:
                self._call("open", partial(task.open, context))
            except BaseException:
                self.close()
                raise
        return self

    def poll(self, timeout_s: float = POLL_S, *, grace_s: float = CALL_LIMIT_S) -> Batch | None:
        """Poll the next task in turn once; return its first batch with rows, or None. Others are kept as well."""
        task = self.tasks[self._next % len(self.tasks)]
        self._next += 1
        polled = self._call(
            f"poll with a deadline of {timeout_s:g} s",
            lambda: task.poll(Deadline.after(timeout_s)),
            limit_s=timeout_s + grace_s,
            fix=DEADLINE_FIX,
        )
        unit = batches_of(polled)
        self.batches.extend(unit)
        return next((batch for batch in unit if len(batch)), None)

    def read_until(self, done: Callable[[], bool], *, within_s: float) -> bool:
        """Poll until `done`, or the time is over; return True if it was done.

        A poll waits briefly where the last one gave rows, as another task may have those that follow.
        """
        deadline, wait_s = Deadline.after(within_s), FIRST_POLL_S
        while not (finished := done()) and not deadline.expired:
            has_rows = self.poll(min(wait_s, deadline.remaining_s)) is not None
            wait_s = FIRST_POLL_S if has_rows else min(2 * wait_s, POLL_S)
        return finished

    def read_batches(self, count: int, *, within_s: float) -> int:
        """Poll until there are `count` batches with rows, or the time is over; return how many there are."""
        self.read_until(lambda: len(self.full_batches) >= count, within_s=within_s)
        return len(self.full_batches)

    @property
    def full_batches(self) -> list[Batch]:
        """Return the batches that have rows."""
        return [b for b in self.batches if len(b)]

    def store_first(self, count: int) -> None:
        """Store the positions of the first `count` batches and say so to the tasks, as after a flush."""
        positions = [b.position for b in self.batches[:count] if b.position is not None]
        self.store.store(positions)
        self._tell_stored(positions)

    def store_all(self) -> None:
        """Store the positions of everything read."""
        self.store_first(len(self.batches))

    def crash(self) -> None:
        """Drop the tasks where they stand, without `close`."""
        self.tasks.clear()
        self.thread.end()

    def close(self) -> None:
        """Close every task. Calling it twice is harmless."""
        tasks, self.tasks = self.tasks, []
        try:
            for task in reversed(tasks):
                self._call("close", task.close)
        finally:
            self.thread.end()

    def _tell_stored(self, positions: list[SourcePosition]) -> None:
        for task in self.tasks:
            if positions:
                self._call("stored", partial(task.stored, positions))

    def _call(self, what: str, run: Callable[[], Any], *, limit_s: float = CALL_LIMIT_S, fix: str = "") -> Any:
        return self.thread.call(what, run, limit_s=limit_s, fix=fix)
