"""Runs a sink task: it reads, hands over what it read, flushes in time, rests while it is paused, and ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from connect.api.records import TopicPartition
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.records.tolerance import LimitExceededError, Stage, ToleranceExceededError
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.commits import SinkCommits
from connect.runtime.sink.gaps import SinkGaps
from connect.runtime.sink.intake import PAUSED_WAIT_S, SinkIntake
from connect.runtime.sink.membership import SinkMembership
from connect.runtime.sink.partitions import SinkPartitions, place_of
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.task.condition import Step
from connect.runtime.task.control import Control
from connect.runtime.task.idle_memory import IdleMemory
from connect.runtime.task.task_reports import TaskReports

POLL_TIMEOUT_S = 0.5
UNASSIGNED_S = 15.0
"""A group gets this time to give out partitions after the task has joined it."""


class SinkLoop:
    """Runs one sink task on the calling thread until `stop` is set."""

    def __init__(self, consumer: BatchConsumer, path: SinkRecordPath, limits: SinkLimits, reports: TaskReports) -> None:
        self._consumer = consumer
        self._path = path
        self._limits = limits
        self._figures = reports.figures
        self._conditions = reports.conditions
        self._partitions = SinkPartitions()
        self.membership = SinkMembership(consumer, self._partitions)
        self.commits = SinkCommits(path, consumer, self._partitions, limits, reports)
        self._intake = SinkIntake(path, self.membership, self.commits, limits, reports)
        self._gaps = SinkGaps(consumer, path.task, self._partitions, self.commits, reports)
        self._began_s = time.monotonic()
        self._ended = False
        self._memory = IdleMemory()

    def run(self, control: Control, on_paused: Callable[[bool], None], subscription: Sequence[str] | str) -> None:
        """Consume until stopped, then flush and commit. Any error but RetriableError ends the task.

        `on_paused` is called with True once the paused task puts nothing more, and with False when it goes on.
        """
        control.wake = self._consumer.wake
        self.commits.begin()
        self._intake.rest_if_asked = lambda: self._rest_between_tries(control, on_paused)
        self._consumer.subscribe(subscription, self._on_assigned, self._on_revoked, self._on_lost)
        try:
            while not control.stopping:
                control.heard()
                if control.paused:
                    self._rest(control, on_paused)
                else:
                    self._step(control)
        except (ToleranceExceededError, LimitExceededError) as error:
            if error.row.stage is not Stage.TASK_PUT:
                # Everything before the bad record was taken: keep it, so that a restart begins at that record.
                self.commits.flush()
            # Of a batch that the sink refused a row of it has the rows behind that one, too. Were they made durable, an
            # object that covers them would keep the row out for ever, also once it is mended.
            raise
        else:
            self.commits.flush()
        finally:
            self._ended = True

    def _step(self, control: Control) -> None:
        stop = control.stop
        deadline = Deadline.after(min(POLL_TIMEOUT_S, self.commits.due_in_s), control.bell)
        with self._figures.timed("poll_s_total"):
            batches = self._consumer.poll(self._limits.max_records, deadline)
        self._partitions.polled()
        self._gaps.look()
        self._tell_idle(bool(batches))
        if batches:
            self._figures.measure("batch_rows", sum(map(len, batches)))
            self._tell_of(batches)
        for raw in batches:
            if stop.is_set():
                return
            with self._figures.batch(raw.topic, len(raw), raw.headers or ()):
                self._intake.take(raw, stop)
        if self.commits.is_due:
            self.commits.flush()
        self.commits.tell_lag_if_due()
        self._memory.polled(has_rows=bool(batches))

    def _tell_of(self, batches: Sequence[RawBatch]) -> None:
        """Tell of rows that were read before the sink is called with them: it may not return for a long time."""
        for raw in batches:
            self._partitions.read(place_of(raw), raw)
        self.commits.tell_lag_if_due(read={place_of(raw) for raw in batches})

    def _rest(self, control: Control, on_paused: Callable[[bool], None]) -> None:
        """Flush once, then keep polling without taking anything: a silent consumer would be put out of its group."""
        on_paused(True)
        self.commits.flush()
        self.membership.hold()
        self._serve_while_paused(control)
        self.membership.go_on()
        if not control.stopping:
            on_paused(False)

    def _rest_between_tries(self, control: Control, on_paused: Callable[[bool], None]) -> None:
        """Try no more while the task is paused. Nothing is flushed: the sink may have a part of what was read."""
        if control.paused and not control.stopping:
            on_paused(True)
            self._serve_while_paused(control)
            if not control.stopping:
                on_paused(False)

    def _serve_while_paused(self, control: Control) -> None:
        while control.paused and not control.stopping:
            control.heard()
            self.membership.serve()
            self.commits.tell_lag_if_due()
            if control.paused:
                control.bell.wait(PAUSED_WAIT_S)

    def _tell_idle(self, has_rows: bool) -> None:
        """Say why no rows come, where there is more to say than that the topics have none."""
        trouble = None if has_rows else self._consumer.trouble
        if trouble is not None:
            self._conditions.waiting(Step.POLL, "kafka", trouble)
        elif not has_rows and not self._partitions.assigned and time.monotonic() - self._began_s >= UNASSIGNED_S:
            self._conditions.waiting(
                Step.POLL,
                "kafka",
                "The consumer group has given this task no partition: the topics do not exist, have fewer partitions "
                "than there are tasks, or the group is still joining.",
            )
        else:
            self._conditions.over(Step.POLL)

    def _on_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.membership.assigned(partitions)
        self._figures.set("assigned_partitions", len(self._partitions.assigned))
        self._path.task.assigned(partitions)

    def _on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        if not self._ended:
            self.commits.flush()
        self._on_lost(partitions)

    def _on_lost(self, partitions: Collection[TopicPartition]) -> None:
        self._path.task.revoked(partitions)
        self._partitions.lose(partitions)
        self._figures.set("assigned_partitions", len(self._partitions.assigned))
