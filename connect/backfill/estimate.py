"""Estimates how long a job takes, by the markers of the cluster's last job like it, or else by a rule of thumb."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from connect.api.errors import ConnectError
from connect.api.optional.bulk import BulkPlan
from connect.backfill.driver import Driver, state_topics
from connect.backfill.job.core_speed import core_speed
from connect.backfill.job.job import Job
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.markers import Marker
from connect.backfill.job.pace import Pace, RemainingLanes
from connect.backfill.job.spec import BackfillSpec
from connect.lib.deadline import Deadline

_KAFKA_S: Final = 60.0
_PAUSE_S: Final = 20.0
"""A part is written in seconds. A longer gap between markers was a pause, or nobody ran the job."""
_LEAST_S: Final = 2.0
"""A job that worked for fewer seconds tells nothing but the time of its start."""
COMMAND_S: Final = 2.0
"""A command takes about so many seconds to load and plan before its job is there."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Describes how fast a job was.

    `start_s` is the time from its command until its first part was in Kafka. `size_bytes_per_second` counts the
    source's bytes as the plan estimated them; it is 0 if the source could not tell.
    """

    job: str
    lanes: int
    start_s: float
    rows_per_second: float
    size_bytes_per_second: float

    @classmethod
    def of(cls, job: Job, found: Iterable[Marker]) -> Speed | None:
        """Return the speed of a job; None if it was too short to tell."""
        written = sorted((marker.written_ms, marker.read) for marker in found)
        if not written:
            return None
        gaps_s = [(after - before) / 1000 for (before, _), (after, _) in pairwise(written)]
        worked_s = sum(min(gap_s, _PAUSE_S) for gap_s in gaps_s)
        if worked_s < _LEAST_S:
            return None
        # The rows of the first part were read before its marker was written, so they do not count.
        rate = sum(rows for _, rows in written[1:]) / worked_s
        start_s = COMMAND_S + min((written[0][0] - job.created_ms) / 1000, 6 * _PAUSE_S)
        size_bytes = rate * job.size_bytes / job.rows if job.rows else 0.0
        return cls(job.name, job.settings.chunking.lanes, start_s, rate, size_bytes)

    def seconds(self, rows: int, size_bytes: int) -> float:
        """Return how many seconds the job would have taken for this; bytes decide where both sides know them."""
        if size_bytes and self.size_bytes_per_second:
            return self.start_s + size_bytes / self.size_bytes_per_second
        return self.start_s + rows / self.rows_per_second


@dataclass(frozen=True, slots=True)
class RuleOfThumb:
    """Describes the speed per core in the bench, where broker and database ran on the same cores.

    `start_s` is the time from the command until the first part was in Kafka, with the extra time that a broker takes
    that has just started.
    """

    start_s: float
    rows_per_second: float
    size_bytes_per_second: float

    def on(self, speed: float) -> RuleOfThumb:
        """Return the rule for cores that are `speed` times as fast as the bench's.

        Only half of the time depends on it: moving a row's bytes through memory and kernel takes as long on a core that
        encodes them faster.
        """
        longer = (1 + 1 / speed) / 2
        return RuleOfThumb(self.start_s * longer, self.rows_per_second / longer, self.size_bytes_per_second / longer)

    def seconds(self, rows: int, size_bytes: int, cores: int) -> float:
        """Return how many seconds this would take. Small rows cost by their number, large ones by their bytes."""
        return self.start_s + max(rows / self.rows_per_second, size_bytes / self.size_bytes_per_second) / cores


_RULES: Final[Mapping[str, RuleOfThumb]] = {
    "local": RuleOfThumb(7.0, 150_000, 142e6),
    "spark": RuleOfThumb(19.0, 145_000, 138e6),
}
"""Holds the rule of each engine, for rows of 940 bytes of JSON from PostgreSQL on two cores.

See docs/design/backfill-bulk-work.md.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Holds an estimate. `duration_s` is None if nothing tells it. `basis` says in a sentence how it was made."""

    duration_s: float | None
    basis: str


def estimated(driver: Driver, plan: BulkPlan) -> Estimate:
    """Return an estimate of the job's duration. It reads jobs and markers, and writes nothing."""
    rows = sum(split.rows for split in plan.splits)
    size_bytes = sum(split.size_bytes for split in plan.splits)
    return within_limits(_unlimited(driver, rows, size_bytes), driver.spec.limits.pace, rows, size_bytes)


def within_limits(told: Estimate, pace: Pace, rows: int, size_bytes: int) -> Estimate:
    """Return the estimate made longer if the job's own limits on rows and bytes per second ask for it."""
    duration_s, basis, least_s = told.duration_s, told.basis, pace.least_s(rows, size_bytes)
    if duration_s is not None and least_s > duration_s:
        duration_s, basis = least_s, "the job's own limits on rows and bytes per second"
    if pace.window:
        basis = f"{basis}; of the hours {pace.window} alone"
    return Estimate(duration_s, basis)


def _unlimited(driver: Driver, rows: int, size_bytes: int) -> Estimate:
    jobs = driver.store.jobs(Deadline.after(_KAFKA_S)).jobs
    for job in like(driver.spec, rows, list(jobs.values())):
        speed = Speed.of(job, _markers_of(driver, job))
        if speed is not None:
            limited = " under limits of its own" if job.settings.limits.pace != Pace() else ""
            basis = (
                f"job {speed.job} wrote {speed.rows_per_second:,.0f} rows/s in {speed.lanes} lanes{limited}, "
                f"after {speed.start_s:,.0f} s of start"
            )
            return Estimate(speed.seconds(rows, size_bytes), basis)
    cores = cores_at_work(driver.spec, os.cpu_count() or 1, driver.planner.reader_connections)
    return first_estimate(driver.spec, rows, size_bytes, cores, core_speed())


def first_estimate(spec: BackfillSpec, rows: int, size_bytes: int, cores: int, speed: float) -> Estimate:
    """Return an estimate for a job before any job like it has ended.

    `cores` is the number of cores at work. `speed` is the speed of each as a multiple of the bench's.
    """
    nothing = "no job of this kind and engine has ended yet, by whose speed it could be told"
    if spec.kind != "source":
        return Estimate(None, nothing)
    rule = _RULES[spec.engine.type].on(speed)
    basis = (
        f"rule of thumb, as {nothing}: {rule.rows_per_second:,.0f} rows/s or {rule.size_bytes_per_second / 1e6:,.0f} "
        f"MB/s on each of {cores} cores as fast as one is here now, after {rule.start_s:,.0f} s of start"
    )
    return Estimate(rule.seconds(rows, size_bytes, cores), basis)


def cores_at_work(spec: BackfillSpec, machine_cores: int, reader_connections: int) -> int:
    """Return how many cores the lanes can fill, one each, on this machine or on a cluster that has enough of them.

    `reader_connections` is the number of connections that one lane's reader has to the source: a limit on connections
    may keep lanes back.
    """
    at_once = spec.engine.lanes_at_once(machine_cores)
    lanes = RemainingLanes(spec.chunking.lanes, reader_connections).at_once(spec.limits.pace)
    return lanes if at_once is None else min(at_once, machine_cores, lanes)


def like(spec: BackfillSpec, rows: int, jobs: Sequence[Job]) -> list[Job]:
    """Return the ended jobs of the same engine and kind, those that tell most about a job of `rows` rows first.

    Jobs of the same connector come first. Among these come first those with at least as many rows, or else with the
    most, as a small job is mostly start; then the newest.
    """
    ended = [job for job in jobs if job.state.is_copied and job.name != spec.name]
    alike = [job for job in ended if (job.settings.kind, job.settings.engine.type) == (spec.kind, spec.engine.type)]
    connectors = (spec.source.connector, spec.target.connector)

    def rank(job: Job) -> tuple[bool, int, int]:
        is_same = (job.settings.source.connector, job.settings.target.connector) == connectors
        return is_same, min(job.rows, rows), job.updated_ms

    return sorted(alike, key=rank, reverse=True)


def _markers_of(driver: Driver, job: Job) -> list[Marker]:
    store = JobStore(driver.store.worker, state_topics(job.settings))
    try:
        return store.all_markers(Deadline.after(_KAFKA_S))
    except ConnectError:
        return []  # of a job whose records are no longer kept; another one tells
