"""Counts rows that a sink task never reads, as they were deleted or passed over, and reports them for a day."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from connect.api.connector import SinkTask
from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.consume.gaps import Gap
from connect.lib.deadline import Deadline
from connect.runtime.sink.commits import SinkCommits
from connect.runtime.sink.partitions import SinkPartitions
from connect.runtime.sink.recent_gaps import RECENT_S, RecentGap, gaps_of, remark
from connect.runtime.task.condition import MISSED, Step
from connect.runtime.task.task_reports import TaskReports

log = logging.getLogger(__name__)

_TOLD: Final = 3
_ANSWER_S: Final = 2.0
_AGAIN_S: Final = 10.0
"""A group that did not answer is asked again after this time."""


class SinkGaps:
    """Reports gaps: offsets that the task has passed over without reading their rows. Owned by the task's thread.

    Gaps are kept in the metadata of the offsets that the group commits, so that a later run reports them, too.
    """

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
        """Take the parts of the task. `clock_s` gives epoch seconds."""
        self._consumer = consumer
        self._remarks = consumer.remarks
        self._task = task
        self._partitions = partitions
        self._commits = commits
        self._figures = reports.figures
        self._conditions = reports.conditions
        self._clock_s = clock_s
        self._recent: list[RecentGap] = []
        self._asked: set[TopicPartition] = set()
        self._next_ask_s = 0.0

    def look(self) -> None:
        """Count the gaps that the last poll found, before the sink gets the rows behind them."""
        told_before = self._of_former_runs() if self._asked != self._partitions.assigned else False
        found = self._consumer.take_gaps()
        for gap in found:
            self._figures.add("missed_rows_total", gap.missed_rows)
            self._figures.add("offset_resets_total")
            self._figures.set("last_missed_epoch_s", self._clock_s())
            self._recent.append(RecentGap(self._clock_s(), gap))
            self._keep(gap.partition)
            if gap.goes_back:
                self._begin_anew(gap)
            else:
                self._partitions.lag.passed(gap.partition, range(gap.offset, gap.reads_on_at))
        if found or told_before or (self._recent and self._recent[0].at_s <= self._clock_s() - RECENT_S):
            self._tell()

    def _of_former_runs(self) -> bool:
        """Tell if partitions came or went, and take over what their last owners have found.

        A partition that went away is told of by its next owner.
        """
        owned = self._partitions.assigned
        self._asked &= owned
        gone = [found for found in self._recent if found.gap.partition not in owned]
        self._recent = [found for found in self._recent if found.gap.partition in owned]
        new = owned - self._asked
        if not new or time.monotonic() < self._next_ask_s:
            return bool(gone)
        try:
            kept = self._remarks.committed(new, Deadline.after(_ANSWER_S))
        except ConnectError as error:
            # The rows that come do not wait for it.
            log.info("The group did not say what rows were missed before: %s", error)
            self._next_ask_s = time.monotonic() + _AGAIN_S
            return bool(gone)
        self._asked |= new
        since_s = self._clock_s() - RECENT_S
        former = [found for tp, text in kept.items() for found in gaps_of(tp, text) if found.at_s > since_s]
        self._recent = sorted([*former, *self._recent], key=lambda found: found.at_s)
        for tp in {found.gap.partition for found in former}:
            self._keep(tp)
        if former:
            self._figures.set("last_missed_epoch_s", self._recent[-1].at_s)
        return bool(gone or former)

    def _keep(self, partition: TopicPartition) -> None:
        """Have the recent gaps of a partition committed with its offsets from now on."""
        text = remark(self._recent, partition)
        if text is None:
            self._remarks.own.pop(partition, None)
        else:
            self._remarks.own[partition] = text

    def _begin_anew(self, gap: Gap) -> None:
        """Let the sink take the partition as one that has just come: it knows offsets that are other rows' now."""
        self._commits.flush()
        self._task.revoked([gap.partition])
        self._partitions.begin_anew(gap.partition)
        self._task.assigned([gap.partition])

    def _tell(self) -> None:
        since_s = self._clock_s() - RECENT_S
        self._recent = [found for found in self._recent if found.at_s > since_s]
        for partition in list(self._remarks.own):
            self._keep(partition)
        missed = sum(gap.missed_rows for _, gap in self._recent)
        more = len(self._recent) - _TOLD
        told = [str(gap) for _, gap in self._recent[: -_TOLD - 1 : -1]]
        told += (
            [f"{missed} rows in all were missed within a day; the worker's log has {more} more places."]
            if more > 0
            else []
        )
        self._conditions.noted([f"{MISSED}{text}" for text in told], Step.GAP)
