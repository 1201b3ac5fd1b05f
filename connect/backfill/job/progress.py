"""Tells how far a job is, by its markers alone: on any machine, and even if its driver is dead."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from connect.backfill.job.job import Job, Jobs
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.markers import Marker, markers, parsed
from connect.backfill.job.pace import Pace
from connect.backfill.job.states import JobState, JobStateError
from connect.lib.deadline import Deadline
from connect.lib.printable import counted

_WINDOW_S: Final = 30.0
_QUIET_S: Final = 20.0
"""A chunk is written in seconds. After so many seconds without one the driver may be dead, or Spark is starting."""
_STARTED_S: Final = 60.0
"""Spark starts in fewer seconds if its cluster has executors for it."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Holds a job's counts so far, its rate in the last half minute, and the time to its end at that rate or limit.

    A job that does not run has the rate 0.
    """

    state: JobState | None = None
    error: str | None = None
    chunks: int = 0
    chunks_done: int = 0
    rows: int = 0
    rows_done: int = 0
    size_bytes: int = 0
    lanes: int = 0
    rows_per_second: float = 0.0
    eta_s: float | None = None
    silent_s: float | None = None
    """Holds the seconds since the newest marker, or since the driver wrote the job's record if that is later."""

    @property
    def is_over(self) -> bool:
        """Return True if nothing runs, and nothing will run unless somebody starts it."""
        return self.state is not None and not self.state.is_running

    def line(self) -> str:
        """Return the progress in a line for people."""
        share = self.chunks_done / self.chunks if self.chunks else 1.0
        eta = "" if self.eta_s is None or self.chunks_done == self.chunks else f", about {self.eta_s:,.0f} s to go"
        rate = "" if self.is_over else f", {self.rows_per_second:,.0f} rows/s"
        quiet = self._quiet(self.silent_s or 0.0) if self.state is JobState.RUNNING else ""
        return (
            f"{self.state or 'no such job'}: {share:.0%}, {self.chunks_done} of {counted(self.chunks, 'chunk')}, "
            f"{self.rows_done:,} of about {counted(self.rows, 'row')}, {self.size_bytes / 1e6:,.1f} MB, "
            f"{counted(self.lanes, 'lane')}{rate}{eta}{quiet}{f'; {self.error}' if self.error else ''}"
        )

    def _quiet(self, silent_s: float) -> str:
        if silent_s <= _QUIET_S:
            return ""
        is_late = not self.lanes and silent_s > _STARTED_S
        look = ", and none before: see whether limits let it, its driver runs and Spark has executors"
        return f"; no chunk for {silent_s:,.0f} s{look if is_late else ''}"


class MarkerTotals:
    """Adds up markers. It is not thread-safe."""

    def __init__(self) -> None:
        self.rows = self.size_bytes = self.chunks_done = self.chunks_added = 0
        self.lanes: set[int] = set()
        self._recent: list[tuple[int, int]] = []
        self._by_second: Counter[int] = Counter()
        self.last_marker_ms: int | None = None

    def add(self, marker: Marker, lane: int) -> None:
        """Add one marker of a lane."""
        self.rows += marker.read
        self.size_bytes += marker.size_bytes
        self.chunks_done += marker.is_last
        self.chunks_added += max(0, len(marker.pieces) - 1)
        self.lanes.add(lane)
        self._recent.append((marker.written_ms, marker.read))
        self._by_second[marker.written_ms // 1000] += marker.read
        self.last_marker_ms = max(marker.written_ms, self.last_marker_ms or 0)

    def rate(self, now_ms: int) -> float:
        """Return the rows per second in the half minute before `now_ms`, or before the newest marker if it is later."""
        newest_ms = self.last_marker_ms or 0
        # Markers that are too old may be anywhere in the list: all of one lane may be read before any of another's.
        self._recent = [(at, rows) for at, rows in self._recent if at >= newest_ms - _WINDOW_S * 1000]
        last = max(now_ms, newest_ms)
        counted = [(at, rows) for at, rows in self._recent if at >= last - _WINDOW_S * 1000]
        first = min((at for at, _ in counted), default=last)
        # The rows of the first marker were read before its time, so they do not count.
        rows = sum(count for at, count in counted if at > first)
        return rows / ((last - first) / 1000) if last > first else 0.0

    def rates(self, until_ms: int, spans: int) -> list[float]:
        """Return the rows per second in each of `spans` equal spans of time.

        They begin with the first marker, and end at `until_ms` or the newest marker, whichever is later. Empty: there
        is no marker.
        """
        if not self._by_second:
            return []
        first_s, last_s = min(self._by_second), max(until_ms // 1000, *self._by_second)
        # Markers are counted by the second, so a span is never shorter.
        span_s = max(1.0, (last_s + 1 - first_s) / spans)
        rows = [0.0] * math.ceil((last_s + 1 - first_s) / span_s)
        for at_s, count in self._by_second.items():
            rows[int((at_s - first_s) / span_s)] += count
        return [count / span_s for count in rows]

    def progress(self, job: Job | None, pace: Pace, now_ms: int) -> JobProgress:
        """Return how far the job is; without a job it is empty. `pace` are the limits that count now."""
        if job is None:
            return JobProgress()
        rate = self.rate(now_ms) if job.is_running else 0.0
        rows = max(job.rows, self.rows)
        left = rows - self.rows
        return JobProgress(
            state=job.state,
            error=job.error,
            chunks=job.chunks + self.chunks_added,
            chunks_done=self.chunks_done,
            rows=rows,
            rows_done=self.rows,
            size_bytes=self.size_bytes,
            lanes=len(self.lanes),
            rows_per_second=rate,
            eta_s=max(left / rate, pace.least_s(left, 0)) if rate and job.is_running else None,
            silent_s=(now_ms - max(self.last_marker_ms or 0, job.updated_ms)) / 1000,
        )


class Watch:
    """Follows a job's topics. The owner closes it; `progress` may be called from any thread."""

    def __init__(self, store: JobStore, job: str, deadline: Deadline) -> None:
        """Read the topics to their ends. RetriableError: that is not done by the deadline.

        JobStateError: the marker topic does not exist.
        """
        if not store.partition_counts([store.topics.markers], deadline):
            raise JobStateError(
                f"Nothing tells how far backfill {job} is: its marker topic {store.topics.markers} is not there.",
                fix="Cancel it, and begin again under another name, into a new topic.",
            )
        self._job = job
        self._jobs = Jobs()
        self._tally = MarkerTotals()
        self._lock = threading.Lock()  # the reading thread adds while others ask
        self._driver_partition = store.topics.lanes
        self._logs = [store.followed(store.topics.jobs, self._jobs.apply, deadline)]
        try:
            self._logs.append(store.followed(store.topics.markers, self._take, deadline))
        except BaseException:
            self.close()
            raise

    @property
    def pace(self) -> Pace:
        """Return the limits that the job's owner gave last."""
        return self._jobs.paces.get(self._job, Pace())

    def progress(self) -> JobProgress:
        """Return how far the job is now."""
        job = self._jobs.jobs.get(self._job)
        with self._lock:
            return self._tally.progress(job, self.pace, time.time_ns() // 1_000_000)

    def rates(self, spans: int) -> list[float]:
        """Return the rows per second in equal spans since the job began; they end now if it runs."""
        job = self._jobs.jobs.get(self._job)
        with self._lock:
            return self._tally.rates(time.time_ns() // 1_000_000 if job is not None and job.is_running else 0, spans)

    def close(self) -> None:
        """Close the clients that read the topics."""
        for log in self._logs:
            log.close()

    def _take(self, key: bytes, value: bytes | None, partition: int) -> None:
        if partition == self._driver_partition or "chunk" not in parsed(key):
            return
        (marker,) = markers([(key, value)])
        with self._lock:
            self._tally.add(marker, partition)
