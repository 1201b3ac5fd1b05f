"""What a sink task does about rows that it will never read: it counts them, and says so for a day."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from connect.api.connector import SinkTask
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.gaps import Gap
from connect.runtime.sink.commits import SinkCommits
from connect.runtime.sink.partitions import SinkPartitions
from connect.runtime.task.condition import MISSED, Step
from connect.runtime.task.task_reports import TaskReports

RECENT_S: Final = 86_400.0
"""A gap is told for so long."""
_TOLD: Final = 3


class SinkGaps:
    """Tells of gaps. Owned by the task's thread."""

    def __init__(
        self,
        consumer: BatchConsumer,
        task: SinkTask,
        partitions: SinkPartitions,
        commits: SinkCommits,
        reports: TaskReports,
        *,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        """`clock_s` gives epoch seconds."""
        self._consumer = consumer
        self._task = task
        self._partitions = partitions
        self._commits = commits
        self._figures = reports.figures
        self._conditions = reports.conditions
        self._clock_s = clock_s
        self._recent: list[tuple[float, Gap]] = []

    def look(self) -> None:
        """Count what was found by the last poll, before the sink is given what comes behind it."""
        found = self._consumer.take_gaps()
        for gap in found:
            self._figures.add("missed_rows_total", gap.missed_rows)
            self._figures.add("offset_resets_total")
            self._figures.set("last_missed_epoch_s", self._clock_s())
            self._recent.append((self._clock_s(), gap))
            if gap.goes_back:
                self._begin_anew(gap)
        if found or (self._recent and self._recent[0][0] <= self._clock_s() - RECENT_S):
            self._tell()

    def _begin_anew(self, gap: Gap) -> None:
        """Let the sink take the partition as one that has just come: it knows offsets that are other rows' now."""
        self._commits.flush()
        self._task.revoked([gap.partition])
        self._partitions.begin_anew(gap.partition)
        self._task.assigned([gap.partition])

    def _tell(self) -> None:
        since_s = self._clock_s() - RECENT_S
        self._recent = [(at_s, gap) for at_s, gap in self._recent if at_s > since_s]
        missed = sum(gap.missed_rows for _, gap in self._recent)
        more = len(self._recent) - _TOLD
        told = [str(gap) for _, gap in self._recent[: -_TOLD - 1 : -1]]
        told += (
            [f"{missed} rows in all were missed within a day; the worker's log has {more} more places."]
            if more > 0
            else []
        )
        self._conditions.noted([f"{MISSED}{text}" for text in told], Step.GAP)
