"""Runs one lane in one process: an engine sends the task to the process. It is the same with and without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.backfill.job.chunk import LaneBrokenError, LaneReport, LaneRun, LaneWork, Signal, Step
from connect.backfill.job.job import Jobs
from connect.backfill.job.job_store import JobStore, StateTopics, lane_transactional_id
from connect.backfill.job.kinds import JobConnectors, bulk_source, load_of
from connect.backfill.job.markers import Marker
from connect.backfill.job.pace import Pace, RemainingLanes, SourceGuard, Throttle
from connect.backfill.job.parts import ChunkPart, RemainingChunk
from connect.backfill.lane.record_target import RecordTarget
from connect.backfill.lane.sink_target import CopiedRows, ReplayedRecords, SinkTarget
from connect.kafka.client.errors import DeniedError, FatalProducerError, FencedError
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.task.task_id import TaskId

_READ_S: Final = 60.0
_CLOSED_S: Final = 0.5
"""A lane that waits looks once in so many seconds for its owner's signal."""
_AGAIN: Final = (RetriableError, LaneBrokenError, FatalProducerError)


@dataclass(frozen=True, slots=True, repr=False)
class LaneTask:
    """Holds everything that a process needs to run a lane, also secrets of the connectors.

    `pace` counts until the owner gives another one. `sharers` is how many lanes run at a time and share it. `left`
    counts the lanes of the round in which this one is started. `name_in_sinks` is the job's name for a sink.
    """

    work: LaneWork
    connectors: JobConnectors
    topics: StateTopics
    run: str
    pace: Pace
    sharers: int
    left: RemainingLanes
    name_in_sinks: str

    @property
    def at_once(self) -> int:
        """Return how many lanes of its round may run at a time, whatever its engine could run."""
        return self.left.at_once(self.pace)


def run_lane(task: LaneTask, on_step: Callable[[Step, str], None] = lambda _step, _chunk: None) -> LaneReport:
    """Run a lane to its end. Errors that may be gone when it runs again are raised; others are in the report."""
    try:
        with ExitStack() as stack:
            lane = Lane(task, stack)
            try:
                return LaneRun(task.work, lane, on_step).run()
            except FencedError:
                if lane.signal() is Signal.SUPERSEDED:
                    return LaneReport(task.work.lane, Signal.SUPERSEDED)
                raise
    except (*_AGAIN, FencedError):
        raise
    except ConnectError as error:
        is_denied = isinstance(error, DeniedError)
        return replace(LaneReport(task.work.lane, Signal.GO_ON), error=str(error), is_denied=is_denied)


def load(connectors: JobConnectors) -> None:
    """Load the libraries that a lane of these connectors needs, without connecting."""
    with suppress(ConnectError):  # The lane itself says what is wrong with them.
        parts = connectors.following.open()
        if connectors.sink is None:
            bulk_source(parts).bulk_reader().close()
            parts.source_pipeline(lambda *_: None)
        else:
            connectors.sink.open().build_connector()


RunLane = Callable[[LaneTask], LaneReport]
"""Is the type of what a process of an engine calls for a lane: `run_lane`, or a picklable wrapper of it."""


class Target(Protocol):
    """Takes the rows of a lane. Owned by the lane's thread."""

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        """Yield the parts of what is left of a chunk, see `LanePorts.parts`."""

    def close(self) -> None:
        """Release everything that is open."""


class Lane:
    """Connects a lane to Kafka, to its source and to its target. Owned by the lane's thread."""

    def __init__(self, task: LaneTask, stack: ExitStack) -> None:
        """Open what the task names; `stack` closes it."""
        self._task = task
        parts = task.connectors.following.open()
        self._store = JobStore(parts.clients.worker, task.topics)
        self._jobs = Jobs()
        log = self._store.followed(task.topics.jobs, self._jobs.apply, Deadline.after(_READ_S))
        stack.callback(log.close)
        name = lane_transactional_id(task.work.job, task.work.lane)
        self.producer = BatchProducer(parts.producer_settings(f"backfill-{task.work.job}", name))
        stack.callback(self.producer.close)
        self._target = target_of(task, parts, self._store)
        stack.callback(self._target.close)
        self._throttle = Throttle(task.sharers, time.monotonic)
        self._guard = SourceGuard(lambda: load_of(parts), time.monotonic)

    def parts(self, rest: RemainingChunk, then: RemainingChunk | None) -> Iterator[ChunkPart]:
        """Yield the parts of what is left of a chunk as the target makes them."""
        return self._target.parts(rest, then)

    def markers(self) -> Iterable[Marker]:
        """Return the lane's committed markers, in order."""
        return self._store.lane_markers(self._task.work.lane, Deadline.after(_READ_S))

    def marker_batch(self, marker: Marker) -> RawBatch:
        """Return the record of a marker, for the lane's marker partition."""
        return self._store.marker_batch(marker, self._task.work.lane)

    def signal(self) -> Signal:
        """Return the signal in the jobs topic; wait while it is GO_ON and hours or a busy source forbid work."""
        while True:
            signal = signal_of(self._jobs, self._task)
            if signal is not Signal.GO_ON or self._may_work:
                return signal
            Deadline.after(_CLOSED_S).wait(_CLOSED_S)

    def pace(self, rows: int, size_bytes: int) -> None:
        """Wait until the present limits and the source's load allow more rows, or a signal other than GO_ON comes."""
        rest_s = self._throttle.rest_s(self._pace, rows, size_bytes)
        began, until_s = self._pace, time.monotonic() + rest_s
        while signal_of(self._jobs, self._task) is Signal.GO_ON:
            left_s = until_s - time.monotonic() if self._pace == began else 0.0
            if left_s <= 0 and self._guard.allows(self._pace):
                return
            Deadline.after(_CLOSED_S).wait(left_s if left_s > 0 else _CLOSED_S)

    @property
    def _may_work(self) -> bool:
        return self._pace.is_open(datetime.now(UTC)) and self._guard.allows(self._pace)

    @property
    def _pace(self) -> Pace:
        return pace_of(self._jobs, self._task)


def pace_of(jobs: Jobs, task: LaneTask) -> Pace:
    """Return the limits that count for a lane now."""
    return jobs.paces.get(task.work.job, task.pace)


def signal_of(jobs: Jobs, task: LaneTask) -> Signal:
    """Return the signal for a lane: its owner's, or AGAIN if the number of lanes at a time has changed."""
    signal = jobs.signal(task.work.job, task.run)
    if signal is Signal.GO_ON and task.left.at_once(pace_of(jobs, task)) != task.at_once:
        return Signal.AGAIN
    return signal


def target_of(task: LaneTask, parts: ConnectorParts, store: JobStore) -> Target:
    """Return the target of a lane. ConnectError: a connector cannot do bulk work.

    `parts` is the connector that goes on.
    """
    work, sink = task.work, task.connectors.sink
    task_id = TaskId(task.connectors.following.name, work.lane)
    if sink is None:
        reader = bulk_source(parts).bulk_reader()
        return RecordTarget(parts, reader, task_id, work.limits.max_bytes, store)
    if task.connectors.source is None:
        return SinkTarget(task.name_in_sinks, parts, ReplayedRecords(parts, task_id), work.limits.chunk_timeout_s)
    into = sink.open()
    rows = CopiedRows(parts, into, bulk_source(parts).bulk_reader(), task_id)
    return SinkTarget(task.name_in_sinks, into, rows, work.limits.chunk_timeout_s)
