"""How far a job is, from its markers alone: from any machine, and also when its driver is dead."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from connect.api.deadline import Deadline
from connect.backfill.job import Jobs, JobState
from connect.backfill.job_store import JobStore
from connect.backfill.markers import Marker, markers, parsed

_WINDOW_S: Final = 30.0
_QUIET_S: Final = 20.0
"""Lanes write a chunk in seconds: after this the driver may be dead, or Spark starts."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts so far, the rate of the last half minute, and when it would be done at that rate."""

    state: JobState | None
    error: str | None
    chunks: int
    chunks_done: int
    rows: int
    rows_done: int
    size_bytes: int
    lanes: int
    rows_per_second: float
    eta_s: float | None
    silent_s: float | None
    """Seconds since the newest marker."""

    @property
    def is_over(self) -> bool:
        """Nothing runs, and nothing will unless somebody starts it."""
        return self.state is not None and self.state not in {JobState.PLANNED, JobState.RUNNING}

    def line(self) -> str:
        """For people."""
        share = self.chunks_done / self.chunks if self.chunks else 1.0
        eta = "" if self.eta_s is None or self.chunks_done == self.chunks else f", about {self.eta_s:,.0f} s to go"
        silent = self.silent_s or 0.0
        quiet = f"; no chunk for {silent:,.0f} s" if self.state is JobState.RUNNING and silent > _QUIET_S else ""
        return (
            f"{self.state or 'no such job'}: {share:.0%}, {self.chunks_done} of {self.chunks} chunks, "
            f"{self.rows_done:,} of about {self.rows:,} rows, {self.size_bytes / 1e6:,.1f} MB, {self.lanes} lanes, "
            f"{self.rows_per_second:,.0f} rows/s{eta}{quiet}{f'; {self.error}' if self.error else ''}"
        )


class Tally:
    """Adds up markers. Not thread-safe."""

    def __init__(self) -> None:
        self.rows = self.size_bytes = self.chunks_done = self.chunks_added = 0
        self.lanes: set[int] = set()
        self._recent: deque[tuple[int, int]] = deque()

    def add(self, marker: Marker, lane: int) -> None:
        """Take one more marker."""
        self.rows += marker.read
        self.size_bytes += marker.size_bytes
        self.chunks_done += marker.is_last
        self.chunks_added += max(0, len(marker.pieces) - 1)
        self.lanes.add(lane)
        self._recent.append((marker.written_ms, marker.read))

    @property
    def last_marker_ms(self) -> int | None:
        """When the newest marker was written."""
        return max((at for at, _ in self._recent), default=None)

    def rate(self) -> float:
        """Rows per second in the half minute before the newest marker."""
        last = self.last_marker_ms
        if last is None:
            return 0.0
        while self._recent and self._recent[0][0] < last - _WINDOW_S * 1000:
            self._recent.popleft()
        first = min(at for at, _ in self._recent)
        # The rows of the first marker were read before it.
        rows = sum(count for at, count in self._recent if at > first)
        return rows / ((last - first) / 1000) if last > first else 0.0


class Watch:
    """Follows a job's topics. Closed by the owner; `progress` may be asked from any thread."""

    def __init__(self, store: JobStore, job: str, deadline: Deadline) -> None:
        """Reads what is there. RetriableError: not by the deadline."""
        self._job = job
        self._jobs = Jobs()
        self._tally = Tally()
        self._lock = threading.Lock()  # the reading thread adds while others ask
        self._driver_partition = store.topics.lanes
        self._logs = [store.followed(store.topics.jobs, self._jobs.apply, deadline)]
        try:
            self._logs.append(store.followed(store.topics.markers, self._take, deadline))
        except BaseException:
            self.close()
            raise

    def progress(self) -> Progress:
        """How far it is now."""
        job = self._jobs.jobs.get(self._job)
        with self._lock:
            tally, rate = self._tally, self._tally.rate()
            rows = 0 if job is None else max(job.rows, tally.rows)
            return Progress(
                state=None if job is None else job.state,
                error=None if job is None else job.error,
                chunks=0 if job is None else job.chunks + tally.chunks_added,
                chunks_done=tally.chunks_done,
                rows=rows,
                rows_done=tally.rows,
                size_bytes=tally.size_bytes,
                lanes=len(tally.lanes),
                rows_per_second=rate,
                eta_s=(rows - tally.rows) / rate if rate else None,
                silent_s=None if tally.last_marker_ms is None else time.time() - tally.last_marker_ms / 1000,
            )

    def close(self) -> None:
        """Let go of the clients."""
        for log in self._logs:
            log.close()

    def _take(self, key: bytes, value: bytes | None, partition: int) -> None:
        if partition == self._driver_partition or "chunk" not in parsed(key):
            return
        (marker,) = markers([(key, value)])
        with self._lock:
            self._tally.add(marker, partition)
