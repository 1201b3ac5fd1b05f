"""Brings what was read into the sink: it is converted, put until the sink takes it, and bad rows are given up.

The consumer is polled from the same thread, also between two tries of a refused put, so the group never loses a live
task; a put gets a deadline well inside `max.poll.interval.ms`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connect.kafka.raw import RawBatch
from connect.lib.backoff import delays_s
from connect.lib.deadline import Deadline
from connect.runtime.records.tolerance import ToleranceExceededError
from connect.runtime.settings.loop_limits import SinkLimits
from connect.runtime.sink.commits import SinkCommits
from connect.runtime.sink.membership import SinkMembership
from connect.runtime.sink.partitions import place_of
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.task.condition import Step
from connect.runtime.task.task_reports import TaskReports

log = logging.getLogger(__name__)

PAUSED_WAIT_S: Final = 0.2
"""A task that takes nothing polls its consumer so often, in seconds, so that it stays in its group."""


class SinkIntake:
    """Brings batches into the sink, in the order in which they were read. Owned by the task's thread."""

    def __init__(
        self,
        path: SinkRecordPath,
        membership: SinkMembership,
        commits: SinkCommits,
        limits: SinkLimits,
        reports: TaskReports,
    ) -> None:
        self._path = path
        self._membership = membership
        self._partitions = membership.partitions
        self._commits = commits
        self._limits = limits
        self._reports = reports
        self._figures = reports.figures
        self._conditions = reports.conditions
        self.rest_if_asked: Callable[[], None] = lambda: None
        """It is called between two tries of a refused batch, and returns once nobody has paused the task any more."""

    def take(self, raw: RawBatch, stop: threading.Event) -> None:
        """Put a batch until the sink has taken it, the task has lost its partition, or `stop` is set."""
        tp = place_of(raw)
        if not self._partitions.is_current(tp):
            return
        self._reports.used_topics.add(raw.topic)
        self._figures.add("polled_rows_total", len(raw))
        self._path.tolerance.saw(len(raw))
        if self._path.dead_letters is not None:
            self._path.dead_letters.current = raw
        try:
            batches = self._decode(tp, raw, stop)
        except ToleranceExceededError as error:
            self._take_before(raw, error, stop)
            raise
        if batches is None:
            return
        for i, batch in enumerate(batches):
            if not self._put(tp, batch, stop, whole=i == 0):
                return
        self._partitions.took(tp, raw)
        self._commits.took_rows()
        self._figures.add("batches_total")
        self._figures.add("rows_total", sum(len(batch) for batch in batches))
        self._figures.add("bytes_total", raw.size_bytes)

    def _decode(self, tp: TopicPartition, raw: RawBatch, stop: threading.Event) -> list[Batch] | None:
        """Return the rows as batches, with retries for errors.retry.timeout; None if stop or a rebalance came first."""
        delays = delays_s(self._limits.retry_delay_max_s)
        while True:
            try:
                with self._figures.timed("convert_s_total"):
                    batches = self._path.pipeline.decode(raw)
            except RetriableError as error:
                self._path.retries.failed(error, f"A batch of {tp.topic}-{tp.partition}")
                self._conditions.retrying(Step.CONVERT, "converter", error, delay_s := next(delays))
                goes_on = self._wait_to_retry("A conversion", error, delay_s, stop, whole=True)
                if not goes_on or self._partitions.was_revoked(tp):
                    return None
            else:
                self._path.retries.succeeded()
                self._conditions.over(Step.CONVERT)
                return batches

    def _take_before(self, raw: RawBatch, error: ToleranceExceededError, stop: threading.Event) -> None:
        """Deliver the good rows before the one that ends the task."""
        assert raw.offsets is not None
        before = sum(1 for offset in raw.offsets.to_pylist() if offset < (error.row.offset or 0))
        if before:
            self.take(replace(raw.slice(0, before), next_offset=error.row.offset), stop)

    def _put(self, tp: TopicPartition, batch: Batch, stop: threading.Event, *, whole: bool) -> bool:
        """Put a batch until it is taken; False when stop or a rebalance ended that before.

        `whole`: nothing that was read together with it has been put.
        """
        delays = delays_s(self._limits.retry_delay_max_s)
        while True:
            try:
                with self._figures.timed("put_s_total"):
                    self._path.task.put(batch, Deadline.after(self._limits.put_timeout_s, stop))
            except RetriableError as error:
                self._conditions.retrying(Step.PUT, "sink", error, delay_s := next(delays))
                goes_on = self._wait_to_retry("put", error, delay_s, stop, whole=whole)
                if not goes_on or self._partitions.was_revoked(tp):
                    return False
            except RejectedRowsError as error:
                self._conditions.over(Step.PUT)
                self._path.refused(batch, error.rows)
                return True
            else:
                self._conditions.over(Step.PUT)
                return True

    def _wait_to_retry(
        self, what: str, error: RetriableError, delay_s: float, stop: threading.Event, *, whole: bool
    ) -> bool:
        """Wait while serving the group, and commit what is due of other rows; False when stop ended the wait.

        A sink that has some batches of a read and not the others is not asked to flush, but for a rebalance.
        """
        self._figures.add("retries_total")
        log.warning("%s is tried again in %.1f s: %s", what, delay_s, error)
        self._membership.hold()
        wait = Deadline.after(delay_s, stop)
        while wait.wait(PAUSED_WAIT_S):
            self._membership.serve()
            self._commits.tell_lag_if_due()
            self.rest_if_asked()
        self.rest_if_asked()  # the wait may have been short
        if whole and self._commits.is_due and not stop.is_set():
            self._commits.flush()
        self._membership.go_on()
        return not stop.is_set()
