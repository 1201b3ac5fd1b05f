"""Spreads load jobs over the day, so that no table and no project exceeds BigQuery's quota. Owned by a task.

Each task of a connector keeps to an equal part of the quota, and none asks another one.
https://docs.cloud.google.com/bigquery/docs/optimize-load-jobs: failed load jobs count, too, and quotas fill up again
over 24 hours.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from connect.api.errors import RetriableError
from connectors.bigquery.settings.quotas import DAY_S, PROJECT_LOADS_A_DAY, TABLE_LOADS_A_DAY

_AT_ONCE: Final = 0.1
"""This part of a day's quota may be used at once; the rest comes evenly."""


class PacedError(RetriableError):
    """A load job would exceed BigQuery's quota of a table or a project. No row is lost, as they are loaded later."""


@dataclass(slots=True)
class _Bucket:
    """Holds the number of load jobs that may be sent now, which grows evenly up to `most`."""

    most: float
    left: float
    at_s: float
    per_s: float

    def fill(self, now_s: float) -> None:
        """Add the jobs that have become free since the last call."""
        self.left = min(self.most, self.left + (now_s - self.at_s) * self.per_s)
        self.at_s = now_s

    @property
    def used_percent(self) -> float:
        """Return how many percent of the jobs that may be sent at once are used."""
        return 100 * (1 - max(0.0, self.left) / self.most)


class LoadPace:
    """Counts the load jobs of one task, and refuses those that come too early. Several threads use it."""

    def __init__(self, tasks: int, now_s: Callable[[], float]) -> None:
        """Take the number of the connector's tasks. `now_s` is a clock in seconds that never goes back."""
        self._tasks = max(1, tasks)
        self._now_s = now_s
        self._lock = threading.Lock()
        self._tables: dict[str, _Bucket] = {}
        self._project = self._new(PROJECT_LOADS_A_DAY)
        self._waits = 0

    def require(self, *tables: str) -> None:
        """Raise PacedError if it is too early for a load job of one of these tables, or for any of the project."""
        with self._lock:
            for table in tables:
                if (bucket := self._tables.get(table)) is not None:
                    self._check(f"table {table}", bucket, TABLE_LOADS_A_DAY)
            self._check("the project", self._project, PROJECT_LOADS_A_DAY)

    def count(self, table: str | None) -> None:
        """Count a load job of a table; None: the table is made for this one job, so only the project's quota counts.

        The search for refused rows of a batch needs several jobs at once. Then later batches wait the longer.
        """
        with self._lock:
            now_s = self._now_s()
            buckets = [self._project]
            if table is not None:
                buckets.append(self._tables.setdefault(table, self._new(TABLE_LOADS_A_DAY)))
            for bucket in buckets:
                bucket.fill(now_s)
                bucket.left -= 1

    def figures(self) -> Mapping[str, float]:
        """Return the metrics of this task: how near the quotas are, and how often a load job had to wait."""
        with self._lock:
            for bucket in (self._project, *self._tables.values()):
                bucket.fill(self._now_s())
            table = max((bucket.used_percent for bucket in self._tables.values()), default=0.0)
            return {
                "load_quota_table_used_percent": table,
                "load_quota_project_used_percent": self._project.used_percent,
                "load_quota_waits_total": self._waits,
            }

    def _check(self, name: str, bucket: _Bucket, quota: int) -> None:
        bucket.fill(self._now_s())
        if bucket.left < 1:
            self._waits += 1
            raise self._error(name, (1 - bucket.left) / bucket.per_s, quota)

    def _new(self, quota: int) -> _Bucket:
        """Return a full bucket. Its jobs and those that it gets in a day are together this task's part of a quota."""
        most = max(1.0, _AT_ONCE * quota / self._tasks)
        return _Bucket(most, most, self._now_s(), (1 - _AT_ONCE) * quota / self._tasks / DAY_S)

    def _error(self, name: str, wait_s: float, quota: int) -> PacedError:
        return PacedError(
            f"A load job waits {max(1.0, wait_s):.0f} s, as BigQuery takes {quota:,} of them a day of {name}, and "
            f"each of {self._tasks} tasks has its part. Rows stay in Kafka, and none is lost.",
            fix="Make batches larger (dedup.merge.interval.ms, batchLoadIntervalSec, dedup.merge.max.records, "
            "buffer.max.bytes), or set tasks.max to less.",
            waiting_for="budget",
        )
