"""Drives a job: plans it once, runs its lanes on an engine until every chunk is in Kafka, and writes its state there.

The driver holds nothing that is not in Kafka, so it may die at any moment and be started again from any machine. It
owns the job by its transactional id: a later driver takes the job over, and the earlier one can write nothing more.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any, Self

from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.bulk import Split
from connect.backfill.awaited_right import AwaitedRight
from connect.backfill.engines import Engine, engine_of
from connect.backfill.job.chunk import LaneReport, Signal, denial_of
from connect.backfill.job.job import Job, JobPace, JobSignal
from connect.backfill.job.job_store import JobStore, StateTopics, owner_of
from connect.backfill.job.kinds import job_connectors
from connect.backfill.job.markers import plan_records, stored_positions
from connect.backfill.job.pace import Pace, RemainingLanes
from connect.backfill.job.pace_limits import limited
from connect.backfill.job.planned_settings import digests_of, require_as_planned
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobAction, JobState
from connect.backfill.lane.run_snapshot import RunSnapshot
from connect.backfill.lane_rounds import LaneRounds
from connect.backfill.ownership import KAFKA_S, JobOwnership, taken_over
from connect.backfill.planner import JobPlanner
from connect.kafka.client.errors import DeniedError
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.runtime.settings.worker_config import WorkerConfig


def state_topics(spec: BackfillSpec) -> StateTopics:
    """Return the topics that hold the state of a job."""
    return StateTopics(spec.state.jobs_topic, spec.marker_topic, spec.chunking.lanes)


class Driver:
    """Does one run of a job. Owned by one thread; a `with` block closes it."""

    def __init__(
        self,
        spec: BackfillSpec,
        worker: WorkerConfig,
        connector: Mapping[str, str],
        target: Mapping[str, str] | None = None,
        *,
        by_worker: str = "",
    ) -> None:
        """Connect to nothing yet. `connector` is the configuration of the connector that goes on after the job.

        `target` is the configuration of the sink for kind copy. `by_worker` is the `host:port` of the worker that runs
        the job; empty for a command.
        """
        self.spec = spec
        self.connectors = job_connectors(spec, dict(worker.originals), connector, target or {})
        self.store = JobStore(worker, state_topics(spec))
        self.planner = JobPlanner(spec, self.connectors, self.store)
        self.ownership = JobOwnership(spec, self.store, by_worker=by_worker)
        self._snapshot = RunSnapshot()
        self._rounds = LaneRounds(spec, self.connectors, self.store, self.planner, self._snapshot)
        self._right = AwaitedRight(self.store, self.ownership)
        self._by_worker = by_worker
        self._stack = ExitStack()
        self._engine: Engine | None = None
        self._job: Job | None = None
        self._splits: Sequence[Split] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ownership.close()
        self._stack.close()

    @property
    def settings(self) -> ConnectorSettings:
        """Return the settings of the connector that goes on where the job ends."""
        return self.connectors.following

    def begin(self, deadline: Deadline | None = None) -> Job:
        """Take the job over, and plan it if it is not planned yet. Call `run` next.

        Others' transactions are waited for until `deadline` (see `JobOwnership.take_over`). ConnectError: the job was
        cancelled, was planned with other values, or cannot be planned, or its engine is missing.
        """
        if self._engine is None:
            self._engine = engine_of(self.spec)
            self._stack.callback(self._engine.close)
            lanes = RemainingLanes(self.spec.chunking.lanes, self.planner.reader_connections)
            self._engine.prepare(self.connectors, lanes.at_once(self.spec.limits.pace))
        known = self.ownership.take_over(deadline)
        self._job, self._splits = self._planned() if known is None else self._resumed(known)
        # Limits and signals that were given to an earlier run give way to the spec of this one.
        self.ownership.write([self.store.said_batch(JobPace(self.spec.name, self.spec.limits.pace))])
        return self._job

    def run(self, engine: Engine | None = None) -> Job:
        """Run every lane that is not at its end, and return the job as it is then. It calls `begin` if nobody has.

        `engine` replaces the spec's engine. TakenOverError: another run has the job now. ConnectError: the job failed,
        which its record says too.
        """
        self._engine = engine or self._engine
        job = self._job or self.begin()
        if job.state.is_copied:
            return job
        assert self._engine is not None
        run = secrets.token_hex(6)
        spec = self.spec.model_dump(mode="json", by_alias=True)
        job = replace(job, spec=spec, run=run, worker=self._by_worker, group=self.store.worker.group_id)
        job = self.ownership.say(job, JobState.RUNNING)
        try:
            with closing(self._snapshot), closing(self._engine):
                job = self._hold(job)
                reports = self._run_lanes(self._engine, job)
        except ConnectError as error:
            self.ownership.fail(job, str(error))
            raise
        except KeyboardInterrupt:
            # The job's processes have ended by now; people who look at the job need not wait for them.
            self.ownership.say(job, JobState.PAUSED)
            raise
        return self._ended(job, reports)

    def _run_lanes(self, engine: Engine, job: Job) -> list[LaneReport]:
        """Run the lanes to their ends; start them again when a right is back that was taken away meanwhile."""
        while True:
            try:
                with self._right.trying(job):
                    reports = self._rounds.run(engine, self._splits, job)
            except DeniedError as error:
                if not self._right.was_there():
                    raise
                denial = str(error)
            else:
                denied = denial_of(reports)
                if denied is None or not self._right.was_there():
                    return reports
                denial = denied
            signal = self._right.wait(job, denial)
            if signal is not Signal.GO_ON:
                return [LaneReport(0, signal)]

    def pause(self) -> Job:
        """Have each lane end behind the chunk that it is writing, and return the job.

        JobStateError: the job's state does not allow a pause.
        """
        job = self.ownership.require_known()
        job.require_allowed(JobAction.PAUSE)
        if job.state is not JobState.PAUSED:
            self.store.say(JobSignal(job.name, Signal.PAUSE), Deadline.after(KAFKA_S))
        return job

    def rest(self, run: str) -> None:
        """Write that the job is paused, as its owner asked of a run that has died, unless another run owns the job."""
        if self.ownership.require_known().run != run:
            return
        job = self.ownership.known(self.ownership.take_over())
        if job.state.is_running:
            self.ownership.say(job, JobState.PAUSED)

    def limit(self, given: Mapping[str, Any]) -> Pace:
        """Change the job's limits from now on, and return the new ones.

        ConfigError: a limit is wrong. JobStateError: the job's state does not allow it.
        """
        job = self.ownership.require_known()
        job.require_allowed(JobAction.LIMIT)
        pace = limited(self.spec.limits, given).pace
        self.store.say(JobPace(job.name, pace), Deadline.after(KAFKA_S))
        return pace

    def cancel(self) -> Job:
        """End the job for good. Its lanes are fenced, so nothing more is written when this returns.

        JobStateError: every chunk is in Kafka already.
        """
        self.ownership.require_known().require_allowed(JobAction.CANCEL)
        self.store.say(JobSignal(self.spec.name, Signal.CANCEL), Deadline.after(KAFKA_S))
        job = self.ownership.known(self.ownership.take_over())
        job.require_allowed(JobAction.CANCEL)  # it may have come to its end meanwhile
        self.store.fence_lanes(self.spec.name, Deadline.after(KAFKA_S))
        return self.ownership.say(replace(job, run=""), JobState.CANCELLED)

    def _planned(self) -> tuple[Job, Sequence[Split]]:
        self.store.require_no_markers(self.spec.name, Deadline.after(KAFKA_S))
        plan = self.planner.plan()
        following = self.planner.begin_following(plan)
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
            configs=digests_of(self.connectors),
            id=secrets.token_hex(4),
        )
        # The job's record comes last. If the driver dies before it, there is no job yet, and it is planned anew.
        for record in (owner_of(self.store, self.spec.name).record, *plan_records(plan.splits)):
            self.ownership.write([self.store.driver_batch([record])])
        self.ownership.write([self.store.job_batch(job)])
        return job, plan.splits

    def _hold(self, job: Job) -> Job:
        """Hold one snapshot for all chunks if the spec wants it. Return the job with the warnings about that."""
        if not self.spec.in_one_snapshot:
            return job
        deadline = Deadline.after(KAFKA_S)
        # Lanes of an earlier run are fenced first, as chunks that they still commit would be of another snapshot.
        self.store.fence_lanes(job.name, deadline)
        is_begun = bool(self.store.all_markers(deadline))
        warnings = self._snapshot.hold(self.connectors.open_source(), deadline, is_begun=is_begun)
        told = [*job.warnings, *(text for text in warnings if text not in job.warnings)]
        return self.ownership.say(replace(job, warnings=told), JobState.RUNNING)

    def _resumed(self, job: Job) -> tuple[Job, Sequence[Split]]:
        job.require_allowed(JobAction.RUN)
        given, planned = self.spec.fixed, job.settings.fixed
        changed = sorted(key for key in given if given[key] != planned[key])
        if changed:
            raise ConfigError(
                f"Backfill {job.name} was planned with other values of {', '.join(changed)}, which stay as they are: "
                f"{ {key: planned[key] for key in changed} }.",
                key=changed[0],
                fix="Put them back, or give the job another name.",
            )
        told = [text for text in require_as_planned(job, self.connectors) if text not in job.warnings]
        self.planner.require_one_cluster()
        self.planner.require_room()
        splits = self.ownership.planned_splits(job)
        self.ownership.write([self.store.said_batch(JobSignal(job.name, Signal.GO_ON))])
        return replace(job, warnings=[*job.warnings, *told]), splits

    def _ended(self, job: Job, reports: Sequence[LaneReport]) -> Job:
        errors = [report.error for report in reports if report.error]
        signals = {report.signal for report in reports}
        if errors:
            self.ownership.fail(job, errors[0])
            raise ConnectError(errors[0])
        if Signal.SUPERSEDED in signals:
            raise taken_over(job.name)
        if Signal.CANCEL in signals:
            return self.ownership.say(job, JobState.CANCELLED)
        if Signal.PAUSE in signals:
            return self.ownership.say(job, JobState.PAUSED)
        try:
            following = stored_positions(self.planner.following_behind(job, self._splits, self._rounds.markers))
        except ConnectError as error:
            self.ownership.fail(job, str(error))
            raise
        return self.ownership.say(replace(job, following=following), JobState.COPIED)
