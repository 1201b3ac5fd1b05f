"""Asks the source what a job would read, and from where the connector goes on afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from connect.api.errors import ConfigError
from connect.api.optional.bulk import BulkPlan, FencedSource, ReadSplit, Split, SplitSize
from connect.api.records import SourcePosition
from connect.backfill.job.job import Job
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.kinds import JobConnectors, load_of, reader_connections
from connect.backfill.job.markers import Marker, chunk_states
from connect.backfill.job.oversized_chunks import placed_chunks
from connect.backfill.job.pace import RemainingLanes
from connect.backfill.job.pace_limits import require_room, require_told
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.lane.run_snapshot import planned_in_one
from connect.backfill.one_cluster import require_one_cluster
from connect.lib.deadline import Deadline

_KAFKA_S: Final = 60.0


class JobPlanner:
    """Asks the source for a job's plan, on the caller's thread. It writes nothing."""

    def __init__(self, spec: BackfillSpec, connectors: JobConnectors, store: JobStore) -> None:
        self._spec = spec
        self._connectors = connectors
        self._store = store

    def plan(self) -> BulkPlan:
        """Return what a run would read of the source as it is now."""
        self._connectors.check()
        self.require_one_cluster()
        self._store.require_own_topics()
        source = self._connectors.open_source()
        self.require_room()
        size = SplitSize(self._spec.chunking.rows, self._spec.chunking.max_bytes)
        if self._spec.limits.pace.is_guarded:
            require_told(self._spec.limits.pace, load_of(self._connectors.following.open()))
        plan = source.plan_bulk(size, Deadline.after(self._spec.handover.settle))
        if plan.is_fenced and self._connectors.sink is not None:
            raise ConfigError(
                f"The rows of connector {self._spec.source.connector} change while they are read, and a sink may keep "
                "those of an earlier try at a chunk: nothing would tell which changes they hold.",
                key="kind",
                fix="Move them by kind: source, or let the connector follow the table by another mode than log.",
            )
        return planned_in_one(plan, source, self._connectors.following.name) if self._spec.in_one_snapshot else plan

    @cached_property
    def reader_connections(self) -> int:
        """Return how many connections the reader of one lane has to the source at most. It connects to nothing."""
        return reader_connections(self._connectors.open_source())

    def require_one_cluster(self) -> None:
        """Raise ConfigError if the job's rows and markers would be written to another Kafka than the worker's."""
        require_one_cluster(self._connectors.following.open(), Deadline.after(_KAFKA_S))

    def require_room(self) -> None:
        """Raise ConfigError if the limits do not even allow one lane at the source."""
        pace = self._spec.limits.pace
        require_room(pace, RemainingLanes(1, self.reader_connections).lane_connections(pace))

    def begin_following(self, plan: BulkPlan) -> Sequence[SourcePosition]:
        """Return the positions from which the connector goes on, as far as they are known before anything is read."""
        source = self._connectors.open_source()
        if not plan.is_fenced or not isinstance(source, FencedSource):
            return plan.following
        return source.begin_bulk(plan, Deadline.after(self._spec.handover.settle))

    def following_behind(
        self, job: Job, splits: Sequence[Split], markers: Sequence[Marker]
    ) -> Sequence[SourcePosition]:
        """Return the positions from which the connector goes on, when every chunk was read."""
        source = self._connectors.open_source()
        if not isinstance(source, FencedSource):
            return job.positions
        states = chunk_states(markers)
        chunks = [chunk.split for chunk in placed_chunks(splits, markers, self._spec.chunking.lanes)]
        return source.following_behind(job.positions, [ReadSplit(s, states[s.id].after or {}) for s in chunks])
