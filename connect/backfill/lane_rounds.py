"""Runs a job's lanes on an engine, round by round, until every chunk is in Kafka or a signal or an error ends it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from connect.api.errors import ConnectError
from connect.api.optional.bulk import Split
from connect.backfill.engines import Engine
from connect.backfill.job.chunk import LaneLimits, LaneReport, LaneWork, Signal
from connect.backfill.job.job import Job
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.job.markers import Marker, chunk_states
from connect.backfill.job.oversized_chunks import placed_chunks
from connect.backfill.job.pace import RemainingLanes
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.lane.lane import LaneTask
from connect.backfill.lane.run_snapshot import RunSnapshot
from connect.backfill.ownership import KAFKA_S
from connect.backfill.planner import JobPlanner
from connect.lib.deadline import Deadline


class LaneRounds:
    """Gives each lane that is not at its end its chunks, round by round. Owned by the driver's thread."""

    def __init__(
        self,
        spec: BackfillSpec,
        connectors: JobConnectors,
        store: JobStore,
        planner: JobPlanner,
        snapshot: RunSnapshot,
    ) -> None:
        self._spec = spec
        self._connectors = connectors
        self._store = store
        self._planner = planner
        self._snapshot = snapshot
        self.markers: Sequence[Marker] = ()
        """Holds the markers that were found at the end of the last round."""

    def run(self, engine: Engine, splits: Sequence[Split], job: Job) -> list[LaneReport]:
        """Run the lanes to their ends; run them again if chunks were cut, or more or fewer lanes may run at a time.

        Return the reports of the last round.
        """
        reports: list[LaneReport] = []
        self.markers = self._store.all_markers(Deadline.after(KAFKA_S))
        while tasks := self._tasks(splits, job):
            reports = engine.run(tasks, tasks[0].at_once)
            if any(report.ends_run for report in reports):
                break
            ended = {report.lane for report in reports if report.signal is Signal.GO_ON}
            chunks = [chunk.id for task in tasks if task.work.lane in ended for chunk in task.work.chunks]
            self.markers = self._store.markers_of(chunks, Deadline.after(KAFKA_S))
        return reports

    def _require_partitions(self, found: Sequence[Marker]) -> None:
        """Raise ConnectError if a topic has another number of partitions than when rows were written to it."""
        written = {(topic, count) for marker in found for topic, count in marker.partitions.items()}
        now = self._store.partition_counts({topic for topic, _ in written}, Deadline.after(KAFKA_S)) if written else {}
        for topic, count in sorted(written):
            if now.get(topic) != count:
                has = f"has {now[topic]} partitions" if topic in now else "is gone"
                raise ConnectError(
                    f"Topic {topic} {has}, and had {count} when backfill {self._spec.name} wrote rows to it: what "
                    "comes behind a row by its key would not be in its partition.",
                    fix="Begin again under another name, into a new topic.",
                )

    def _require_same_topics(self, found: Sequence[Marker]) -> None:
        """Raise ConnectError if a topic is not the one to which rows were written."""
        written = {(topic, topic_id) for marker in found for topic, topic_id in marker.topic_ids.items()}
        now = self._store.topic_ids({topic for topic, _ in written}, Deadline.after(KAFKA_S)) if written else {}
        for topic, topic_id in sorted(written):
            if now.get(topic, topic_id) != topic_id:
                raise ConnectError(
                    f"Topic {topic} was made anew since backfill {self._spec.name} wrote rows to it, which are gone.",
                    fix="Begin again under another name.",
                )

    def _tasks(self, splits: Sequence[Split], job: Job) -> list[LaneTask]:
        """Return a task for each lane that is not at its end, with the limits that the job's owner gave last."""
        self._require_partitions(self.markers)
        self._require_same_topics(self.markers)
        limits = self._spec.limits
        done = {chunk for chunk, state in chunk_states(self.markers).items() if state.is_done}
        lane_limits = LaneLimits(self._spec.chunking.max_bytes, limits.chunk_timeout, limits.max_chunk_retries)
        by_lane: dict[int, list[Split]] = {}
        for chunk, lane in placed_chunks(splits, self.markers, self._spec.chunking.lanes):
            by_lane.setdefault(lane, []).append(self._snapshot.placed(chunk))
        left = {lane: chunks for lane, chunks in by_lane.items() if any(chunk.id not in done for chunk in chunks)}
        pace = self._store.jobs(Deadline.after(KAFKA_S)).paces.get(self._spec.name, limits.pace)
        lanes = RemainingLanes(len(left), self._planner.reader_connections)
        at_once = lanes.at_once(pace)
        return [
            LaneTask(
                LaneWork(self._spec.name, lane, chunks, lane_limits),
                self._connectors,
                self._store.topics,
                job.run,
                pace,
                min(self._spec.engine.lanes_at_once(os.cpu_count() or 1) or at_once, at_once),
                lanes,
                job.name_in_sinks,
            )
            for lane, chunks in left.items()
        ]
