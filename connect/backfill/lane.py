"""One lane in one process: what an engine ships and runs. Plain Python, the same under Spark and without it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from connect.api.bulk import BulkReader, BulkSource
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch
from connect.backfill.chunk import LaneBrokenError, LaneReport, LaneRun, LaneWork, Step, Wish
from connect.backfill.job import Jobs
from connect.backfill.job_store import JobStore, StateTopics, lane_transactional_id
from connect.backfill.markers import Marker
from connect.kafka.errors import FatalProducerError, FencedError
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.runtime.connector_settings import ConnectorParts, ConnectorSettings
from connect.runtime.figures import TaskFigures
from connect.runtime.messages import TaskId
from connect.runtime.pipeline import Encoded, SourcePipeline
from connect.runtime.record_sizes import RecordSizes
from connect.runtime.source_letters import SourceDeadLetters
from connect.runtime.tolerance import Tolerance
from connect.runtime.topic_creation import Topics

_READ_S: Final = 60.0
_AGAIN: Final = (RetriableError, LaneBrokenError, FatalProducerError)


@dataclass(frozen=True, slots=True, repr=False)
class LaneTask:
    """All that a process needs to run a lane; may hold secrets of the connector. rows_per_second: 0 is no limit."""

    work: LaneWork
    settings: ConnectorSettings
    topics: StateTopics
    run: str
    rows_per_second: float = 0.0


def run_lane(task: LaneTask, on_step: Callable[[Step, str], None] = lambda _step, _chunk: None) -> LaneReport:
    """Run a lane to its end. Raises what running it again may mend; anything else is told in the report."""
    try:
        with ExitStack() as stack:
            lane = Lane(task, stack)
            try:
                return LaneRun(task.work, lane, on_step).run()
            except FencedError:
                if lane.wish() is Wish.SUPERSEDED:
                    return LaneReport(task.work.lane, Wish.SUPERSEDED)
                raise
    except (*_AGAIN, FencedError):
        raise
    except ConnectError as error:
        return replace(LaneReport(task.work.lane, Wish.GO_ON), error=str(error))


RunLane = Callable[[LaneTask], LaneReport]
"""What a process of an engine does with a lane: `run_lane`, or something around it that can be pickled."""


class Lane:
    """The ports of a lane to Kafka and to the source. Owned by the lane's thread."""

    def __init__(self, task: LaneTask, stack: ExitStack) -> None:
        """`stack` closes what is opened."""
        self._task = task
        self._parts: ConnectorParts = task.settings.open()
        self._store = JobStore(self._parts.clients.worker, task.topics)
        self._jobs = Jobs()
        log = self._store.followed(task.topics.jobs, self._jobs.apply, Deadline.after(_READ_S))
        stack.callback(log.close)
        name = lane_transactional_id(task.work.job, task.work.lane)
        self.producer = BatchProducer(self._parts.producer_settings(f"connect-{name}", name))
        stack.callback(self.producer.close)
        self.reader = self._bulk_reader()
        stack.callback(self.reader.close)
        self._paid_until_s = time.monotonic()

    def encode(self, batch: Batch) -> Encoded:
        """By the connector's own transforms, converters and `errors.*`, for topics that are there.

        ToleranceExceededError, LimitExceededError: a bad row, or too many.
        """
        self._tolerance.saw(len(batch))
        made = self._pipeline.encode(batch)
        for raw in made.rows:
            self._topics.ensure(raw.topic, Deadline.after(_READ_S))
        return made

    def markers(self) -> Iterable[Marker]:
        """The lane's markers."""
        return self._store.lane_markers(self._task.work.lane, Deadline.after(_READ_S))

    def marker_batch(self, marker: Marker) -> RawBatch:
        """A marker's record."""
        return self._store.marker_batch(marker, self._task.work.lane)

    def wish(self) -> Wish:
        """What the jobs topic says."""
        return self._jobs.wish(self._task.work.job, self._task.run)

    def pace(self, rows: int) -> None:
        """Keep to the rows per second."""
        if not self._task.rows_per_second:
            return
        self._paid_until_s = max(self._paid_until_s, time.monotonic()) + rows / self._task.rows_per_second
        rest_s = self._paid_until_s - time.monotonic()
        Deadline.after(rest_s).wait(rest_s)

    @cached_property
    def _sizes(self) -> RecordSizes:
        return self._parts.clients.record_sizes(self._id, self._parts.resolved)

    @cached_property
    def _letters(self) -> SourceDeadLetters | None:
        parts = self._parts
        return parts.clients.source_letters(
            self._id, parts.source_config, parts.resolved, parts.converters.header, self._sizes
        )

    @cached_property
    def _tolerance(self) -> Tolerance:
        add = None if self._letters is None else self._letters.add
        return Tolerance(self._parts.source_config, TaskFigures(), add, str(self._id))

    @cached_property
    def _pipeline(self) -> SourcePipeline:
        return self._parts.source_pipeline(self._tolerance.give_up, self._letters, sizes=self._sizes)

    @cached_property
    def _topics(self) -> Topics:
        return self._parts.clients.source_topics(self._id, self._parts.source_config)

    @property
    def _id(self) -> TaskId:
        return TaskId(self._task.settings.name, self._task.work.lane)

    def _bulk_reader(self) -> BulkReader:
        return bulk_source(self._parts).bulk_reader()


def bulk_source(parts: ConnectorParts) -> BulkSource:
    """The connector as a source that can be read in bulk. ConnectError: it is none."""
    connector = parts.build_connector()
    if not isinstance(connector, BulkSource):
        raise ConnectError(
            f"Connector {parts.resolved['name']} cannot be read in bulk: {parts.resolved.get('connector.class')} "
            "offers no splits.",
            key="source.connector",
            fix="Name a connector that can be split, as the JDBC source, or let it read its source itself.",
        )
    return connector
