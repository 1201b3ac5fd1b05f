"""A job's driver: plans it once, runs its lanes on an engine until every chunk is in Kafka, and keeps its state there.

The driver holds nothing that is not in Kafka, so it may die at any moment and be started again from any machine. It
owns the job by its transactional id: a later driver takes it over, and the earlier one can write nothing more.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from typing import Final, Self

from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.bulk import BulkPlan, FencedSource, ReadSplit, Split, SplitSize
from connect.api.records import SourcePosition
from connect.backfill.engines import Engine, engine_of
from connect.backfill.job.chunk import LaneLimits, LaneReport, LaneWork, Wish
from connect.backfill.job.division import placed_chunks
from connect.backfill.job.job import Job, JobPace, JobState, JobStateError, JobWish
from connect.backfill.job.job_store import JobStore, StateTopics
from connect.backfill.job.kinds import job_connectors, load_of, reader_connections
from connect.backfill.job.limits import require_room, require_told
from connect.backfill.job.markers import Marker, chunk_states, plan_records, require_done, stored_positions
from connect.backfill.job.pace import LanesLeft
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.stored_spec import told_to_requests
from connect.backfill.lane.lane import LaneTask
from connect.backfill.lane.run_snapshot import RunSnapshot, planned_in_one
from connect.kafka.client.errors import FencedError
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.runtime.settings.worker_config import WorkerConfig

_KAFKA_S: Final = 60.0
_ENDED: Final = {JobState.COPIED, JobState.DONE}


class TakenOverError(ConnectError):
    """Another run owns the job now; this one has written nothing since."""


def state_topics(spec: BackfillSpec) -> StateTopics:
    """Where a job's state is."""
    return StateTopics(spec.state.jobs_topic, spec.marker_topic, spec.chunking.lanes)


class Driver:
    """One run of a job. Owned by one thread; closed by `with`."""

    def __init__(
        self,
        spec: BackfillSpec,
        worker: WorkerConfig,
        connector: Mapping[str, str],
        target: Mapping[str, str] | None = None,
        *,
        by_worker: str = "",
    ) -> None:
        """Connect to nothing yet. `connector` goes on after the job; `target` is the sink of kind copy."""
        self.spec = spec
        self.connectors = job_connectors(spec, dict(worker.originals), connector, target or {})
        self.store = JobStore(worker, state_topics(spec))
        self._by_worker = by_worker
        self._stack = ExitStack()
        self._producer: BatchProducer | None = None
        self._engine: Engine | None = None
        self._job: Job | None = None
        self._splits: Sequence[Split] = ()
        self._markers: Sequence[Marker] = ()
        self._snapshot = RunSnapshot()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def settings(self) -> ConnectorSettings:
        """The connector that goes on where the job ends."""
        return self.connectors.following

    def plan(self) -> BulkPlan:
        """What a run would read, as the source is now. Writes nothing."""
        self.connectors.check()
        self.store.require_own_topics()
        source = self.connectors.open_source()
        self._require_room()
        size = SplitSize(self.spec.chunking.rows, self.spec.chunking.max_bytes)
        if self.spec.limits.pace.is_guarded:
            require_told(self.spec.limits.pace, load_of(self.settings.open()))
        plan = source.plan_bulk(size, Deadline.after(self.spec.handover.settle))
        if plan.is_fenced and self.connectors.sink is not None:
            raise ConfigError(
                f"The rows of connector {self.spec.source.connector} change while they are read, and a sink may keep "
                "those of an earlier try at a chunk: nothing would tell which changes they hold.",
                key="kind",
                fix="Move them by kind: source, or let the connector follow the table by another mode than log.",
            )
        return planned_in_one(plan, source, self.settings.name) if self.spec.in_one_snapshot else plan

    @cached_property
    def reader_connections(self) -> int:
        """How many connections the reader of one lane has to the source at most. Connects to nothing."""
        return reader_connections(self.connectors.open_source())

    def take_over(self) -> Job | None:
        """Become the driver of the job, whoever was it before; the job, None: it was never planned."""
        self.store.make_topics(Deadline.after(_KAFKA_S))
        # First: another cluster's driver of a job of this name would be shut out.
        self._own()
        self.store.require_markers_of(self.spec.name, Deadline.after(_KAFKA_S))
        self._producer = self.store.driver_producer(self.spec.name)
        self._stack.callback(self._producer.close)
        self._producer.init_transactions(Deadline.after(_KAFKA_S))
        return self._own()

    def require_known(self) -> Job:
        """The job as it is now. ConnectError: it was never run, or belongs to another cluster."""
        return self._known(self._own())

    def planned_splits(self, job: Job) -> Sequence[Split]:
        """The chunks of a job as they were planned. ConnectError: they are lost."""
        splits = self.store.driver_state(Deadline.after(_KAFKA_S)).splits
        if len(splits) < job.chunks:
            raise ConnectError(
                f"Topic {self.store.topics.markers} has {len(splits)} of {job.chunks} chunks of backfill {job.name}.",
                fix="Its records are lost. Begin again under another name, into a new topic.",
            )
        # What an earlier driver planned and did not live to announce may be longer.
        return splits[: job.chunks]

    def require_written(self, job: Job) -> None:
        """ConnectError: a chunk of the job has no marker that says that it is done."""
        found = self.store.all_markers(Deadline.after(_KAFKA_S))
        chunks = placed_chunks(self.planned_splits(job), found, self.spec.chunking.lanes)
        require_done((chunk.split.id for chunk in chunks), found)

    def begin(self) -> Job:
        """Plan the job unless it is planned, and take it over; `run` comes next.

        ConnectError: it was cancelled, was planned with other values, or cannot be planned, or its engine is missing.
        """
        if self._engine is None:
            self._engine = engine_of(self.spec)
            self._stack.callback(self._engine.close)
            lanes = LanesLeft(self.spec.chunking.lanes, self.reader_connections)
            self._engine.prepare(self.connectors, lanes.at_once(self.spec.limits.pace))
        known = self.take_over()
        self._job, self._splits = self._planned() if known is None else self._resumed(known)
        # What was said of an earlier run gives way to this one's spec.
        self.write([self.store.said_batch(JobPace(self.spec.name, self.spec.limits.pace))])
        return self._job

    def run(self, engine: Engine | None = None) -> Job:
        """Run every lane that is not at its end; the job as it is then. Calls `begin` where that was not done.

        `engine`: another one than the spec's. TakenOverError: another run has the job now. ConnectError: it failed,
        which the job's record says too.
        """
        self._engine = engine or self._engine
        job = self._job or self.begin()
        if job.state in _ENDED:
            return job
        assert self._engine is not None
        run = secrets.token_hex(6)
        spec = self.spec.model_dump(mode="json", by_alias=True)
        job = replace(job, spec=spec, run=run, worker=self._by_worker, group=self.store.worker.group_id)
        job = self._say(job, JobState.RUNNING)
        try:
            with closing(self._snapshot), closing(self._engine):
                job = self._hold(job)
                reports = self._rounds(run)
        except ConnectError as error:
            self._fail(job, str(error))
            raise
        except KeyboardInterrupt:
            # Its processes are ended by now. Who looks at the job is not to wait for them.
            self._say(job, JobState.PAUSED)
            raise
        return self._ended(job, reports)

    def cancel(self) -> Job:
        """End the job for good: its lanes are fenced, so that nothing is written any more when this returns."""
        self.require_known()
        self.store.say(JobWish(self.spec.name, Wish.CANCEL), Deadline.after(_KAFKA_S))
        job = self._known(self.take_over())
        self.store.fence_lanes(self.spec.name, Deadline.after(_KAFKA_S))
        return self._say(replace(job, run=""), JobState.CANCELLED)

    def write(self, batches: Sequence[RawBatch]) -> None:
        """Write records in one transaction of the driver's. TakenOverError: it is the driver no longer."""
        assert self._producer is not None
        deadline = Deadline.after(_KAFKA_S)
        try:
            self._producer.begin()
            for batch in batches:
                self._producer.send(batch, deadline)
            self._producer.commit(deadline)
        except FencedError as error:
            raise _taken_over(self.spec.name) from error

    def _say(self, job: Job, state: JobState, error: str | None = None) -> Job:
        now = job.now(state, time.time_ns() // 1_000_000, error)
        self.write([self.store.job_batch(now)])
        return now

    def _fail(self, job: Job, error: str) -> None:
        """Let the job's record say what it failed with, in words for whoever began it: a request or a command."""
        self._say(job, JobState.FAILED, told_to_requests(error) if self._by_worker else error)

    def _own(self) -> Job | None:
        """The job; None: there is none. JobStateError: it belongs to another cluster, or nobody can read its record."""
        job = self.store.jobs(Deadline.after(_KAFKA_S)).known(self.spec.name)
        if job is not None:
            job.require_owner(self.store.worker.group_id)
        return job

    def _known(self, job: Job | None) -> Job:
        if job is None:
            raise ConnectError(f"There is no backfill {self.spec.name}.", fix="Begin it by `connect backfill run`.")
        return job

    def _planned(self) -> tuple[Job, Sequence[Split]]:
        plan = self.plan()
        following = self._begun(plan)
        now_ms = time.time_ns() // 1_000_000
        job = Job(
            spec=self.spec.model_dump(mode="json", by_alias=True),
            state=JobState.PLANNED,
            run="",
            chunks=len(plan.splits),
            rows=sum(split.rows for split in plan.splits),
            size_bytes=sum(split.size_bytes for split in plan.splits),
            following=stored_positions(following),
            statements=plan.statements,
            warnings=plan.warnings,
            created_ms=now_ms,
            updated_ms=now_ms,
            worker=self._by_worker,
            group=self.store.worker.group_id,
        )
        # The job last: one whose driver died before has no plan, and is planned anew.
        for record in (self.store.owner.record, *plan_records(plan.splits)):
            self.write([self.store.driver_batch([record])])
        self.write([self.store.job_batch(job)])
        return job, plan.splits

    def _begun(self, plan: BulkPlan) -> Sequence[SourcePosition]:
        """Where following begins, as far as that is known before anything was read."""
        source = self.connectors.open_source()
        if not plan.is_fenced or not isinstance(source, FencedSource):
            return plan.following
        return source.begin_bulk(plan, Deadline.after(self.spec.handover.settle))

    def _hold(self, job: Job) -> Job:
        """Hold one snapshot of all chunks where the spec wants it; the job with what is to be known of that."""
        if not self.spec.in_one_snapshot:
            return job
        deadline = Deadline.after(_KAFKA_S)
        # What lanes of an earlier run still commit would be of another snapshot.
        self.store.fence_lanes(job.name, deadline)
        is_begun = bool(self.store.all_markers(deadline))
        warnings = self._snapshot.hold(self.connectors.open_source(), deadline, is_begun=is_begun)
        told = [*job.warnings, *(text for text in warnings if text not in job.warnings)]
        return self._say(replace(job, warnings=told), JobState.RUNNING)

    def _behind(self, job: Job) -> Sequence[SourcePosition]:
        """Where following begins, now that every chunk was read."""
        source = self.connectors.open_source()
        if not isinstance(source, FencedSource):
            return job.positions
        states = chunk_states(self._markers)
        splits = [chunk.split for chunk in placed_chunks(self._splits, self._markers, self.spec.chunking.lanes)]
        return source.following_behind(job.positions, [ReadSplit(s, states[s.id].after or {}) for s in splits])

    def _resumed(self, job: Job) -> tuple[Job, Sequence[Split]]:
        if job.state is JobState.CANCELLED:
            raise JobStateError(
                f"Backfill {job.name} was cancelled.", fix="Begin again under another name, into a new topic."
            )
        given, planned = self.spec.fixed, job.settings.fixed
        changed = sorted(key for key in given if given[key] != planned[key])
        if changed:
            raise ConfigError(
                f"Backfill {job.name} was planned with other values of {', '.join(changed)}, which stay as they are: "
                f"{ {key: planned[key] for key in changed} }.",
                key=changed[0],
                fix="Put them back, or give the job another name.",
            )
        self._require_room()
        splits = self.planned_splits(job)
        self.write([self.store.said_batch(JobWish(job.name, Wish.GO_ON))])
        return job, splits

    def _require_room(self) -> None:
        """ConfigError: the limits leave not even one lane room at the source."""
        pace = self.spec.limits.pace
        require_room(pace, LanesLeft(1, self.reader_connections).lane_connections(pace))

    def _rounds(self, run: str) -> list[LaneReport]:
        """Run the lanes to their ends, and anew where chunks were cut or more or fewer lanes may run.

        The reports of the last round.
        """
        assert self._engine is not None
        reports: list[LaneReport] = []
        self._markers = self.store.all_markers(Deadline.after(_KAFKA_S))
        while tasks := self._tasks(run):
            reports = self._engine.run(tasks, tasks[0].at_once)
            if any(report.ends_run for report in reports):
                break
            ended = {report.lane for report in reports if report.wish is Wish.GO_ON}
            chunks = [chunk.id for task in tasks if task.work.lane in ended for chunk in task.work.chunks]
            self._markers = self.store.markers_of(chunks, Deadline.after(_KAFKA_S))
        return reports

    def _require_partitions(self, found: Sequence[Marker]) -> None:
        """ConnectError: a topic has other partitions than when rows were written to it."""
        written = {(topic, count) for marker in found for topic, count in marker.partitions.items()}
        now = self.store.partition_counts({topic for topic, _ in written}, Deadline.after(_KAFKA_S)) if written else {}
        for topic, count in sorted(written):
            if now.get(topic) != count:
                has = f"has {now[topic]} partitions" if topic in now else "is gone"
                raise ConnectError(
                    f"Topic {topic} {has}, and had {count} when backfill {self.spec.name} wrote rows to it: what comes "
                    "behind a row by its key would not be in its partition.",
                    fix="Begin again under another name, into a new topic.",
                )

    def _tasks(self, run: str) -> list[LaneTask]:
        """A task for each lane that is not at its end, under the limits that its owner gave last."""
        self._require_partitions(self._markers)
        limits = self.spec.limits
        done = {chunk for chunk, state in chunk_states(self._markers).items() if state.is_done}
        lane_limits = LaneLimits(self.spec.chunking.max_bytes, limits.chunk_timeout, limits.max_chunk_retries)
        by_lane: dict[int, list[Split]] = {}
        for chunk, lane in placed_chunks(self._splits, self._markers, self.spec.chunking.lanes):
            by_lane.setdefault(lane, []).append(self._snapshot.placed(chunk))
        left = {lane: chunks for lane, chunks in by_lane.items() if any(chunk.id not in done for chunk in chunks)}
        pace = self.store.jobs(Deadline.after(_KAFKA_S)).paces.get(self.spec.name, limits.pace)
        lanes = LanesLeft(len(left), self.reader_connections)
        at_once = lanes.at_once(pace)
        return [
            LaneTask(
                LaneWork(self.spec.name, lane, chunks, lane_limits),
                self.connectors,
                self.store.topics,
                run,
                pace,
                min(self.spec.engine.lanes_at_once(os.cpu_count() or 1) or at_once, at_once),
                lanes,
            )
            for lane, chunks in left.items()
        ]

    def _ended(self, job: Job, reports: Sequence[LaneReport]) -> Job:
        errors = [report.error for report in reports if report.error]
        wishes = {report.wish for report in reports}
        if errors:
            self._fail(job, errors[0])
            raise ConnectError(errors[0])
        if Wish.SUPERSEDED in wishes:
            raise _taken_over(job.name)
        if Wish.CANCEL in wishes:
            return self._say(job, JobState.CANCELLED)
        if Wish.PAUSE in wishes:
            return self._say(job, JobState.PAUSED)
        try:
            following = stored_positions(self._behind(job))
        except ConnectError as error:
            self._fail(job, str(error))
            raise
        return self._say(replace(job, following=following), JobState.COPIED)


def _taken_over(name: str) -> TakenOverError:
    return TakenOverError(
        f"Another run has taken backfill {name} over, or it was cancelled; this run has ended.",
        fix=f"See `connect backfill status {name}`.",
    )
