"""Flushes a sink in time, and commits exactly the offsets that the sink says are durable (invariant 2)."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.consume.consumer import BatchConsumer
from connect.lib.deadline import Deadline
from connect.runtime.settings.loop_limits import LoopLimits
from connect.runtime.sink.partitions import SinkPartitions
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.task.condition import Step
from connect.runtime.task.task_reports import TaskReports

log = logging.getLogger(__name__)

LAG_S: Final = 1.0
"""The figures that tell how far a sink is behind are set so often, in seconds."""
BUSY_S: Final = 2.0
"""A task whose last look at the lag is older has a call that does not return, as a put to a target that hangs."""


class _Look(NamedTuple):
    """Holds what the task's thread has last seen of the lag. `since_s` is None if no row waited then.

    `ends` are those of the logs, with rows of open transactions, which the lag in `rows` leaves out.
    """

    at_s: float
    ends: Mapping[TopicPartition, int]
    rows: int
    since_s: float | None


class SinkCommits:
    """Flushes the sink and commits its offsets. Owned by the task's thread."""

    def __init__(
        self,
        path: SinkRecordPath,
        consumer: BatchConsumer,
        partitions: SinkPartitions,
        limits: LoopLimits,
        reports: TaskReports,
    ) -> None:
        self._path = path
        self._consumer = consumer
        self._partitions = partitions
        self._limits = limits
        self._figures = reports.figures
        self._conditions = reports.conditions
        self._took_rows = False
        self._next_flush_s = 0.0
        self._next_lag_s = 0.0
        self._asked_within_s = math.inf
        self._look: _Look | None = None
        self._figures.probe(self._while_busy)

    def begin(self) -> None:
        """Begin the first flush interval now."""
        self._next_flush_s = time.monotonic() + self._limits.flush_interval_s

    @property
    def is_due(self) -> bool:
        """Return True if a flush is due: its interval is over, or the moment is here for which the sink asked."""
        return time.monotonic() >= self._next_flush_s

    @property
    def due_in_s(self) -> float:
        """Return the seconds until a flush is due."""
        return max(0.0, self._next_flush_s - time.monotonic())

    def request(self, within_s: float = 0.0) -> None:
        """Flush in at most so many seconds, as the sink asks for it."""
        self._asked_within_s = min(self._asked_within_s, within_s)
        self._next_flush_s = min(self._next_flush_s, time.monotonic() + within_s)

    def took_rows(self) -> None:
        """Note that the sink has taken rows since the last flush."""
        self._took_rows = True
        self.tell_active()

    def flush(self) -> None:
        """Flush the sink within its time, and commit what is durable; where that fails it is tried again later."""
        deadline = Deadline.after(self._limits.flush_timeout_s)
        self._next_flush_s = time.monotonic() + self._limits.flush_interval_s
        self._asked_within_s = math.inf
        waiting_for = "sink"
        with self._figures.timed("flush_s_total"):
            try:
                durable = self._durable(deadline)
                waiting_for = "kafka"
                durable |= self._durable_ends(durable, deadline)
                if durable:
                    self._consumer.commit(durable, deadline)
                    self._tell_commit(durable)
            except RetriableError as error:
                self._figures.flushed(well=False)
                log.warning("Offsets were not committed this time: %s", error)
                self._conditions.retrying(Step.FLUSH, waiting_for, error, self._limits.flush_interval_s)
            else:
                self._figures.flushed(well=True)
                self._conditions.over(Step.FLUSH)
        self.tell_lag()
        self._tell_tail()

    def _durable(self, deadline: Deadline) -> dict[TopicPartition, int]:
        """Return what the sink claims and may be committed. Dead letters are acknowledged first."""
        claimed = self._path.task.flush(deadline)
        if self._path.dead_letters is not None:
            try:
                self._path.dead_letters.flush(deadline)
            except ConnectError:
                self._figures.add("dead_letter_failures_total")
                raise
        return self._partitions.durable(claimed)

    def _durable_ends(self, durable: Mapping[TopicPartition, int], deadline: Deadline) -> dict[TopicPartition, int]:
        """Return the ends behind marks of transactions that may be committed together with `durable`.

        Without them, who asks the group how far it is behind hears of rows that nobody can read.
        """
        reached = self._consumer.reached_ends()
        unknown = self._partitions.unread_without_commit(reached)
        if unknown:
            self._partitions.remember_commits(self._consumer.committed(unknown, deadline), asked=unknown)
        return self._partitions.durable_ends(reached, durable)

    def _tell_commit(self, durable: Mapping[TopicPartition, int]) -> None:
        now_s = time.time()
        for batch in self._partitions.committed(durable):
            self._figures.arrived(now_s - batch.oldest_ms / 1000, batch.rows)
        self.tell_active()
        log.debug("Committed the offsets of %d partitions.", len(durable))
        self._figures.add("commits_total")
        self._figures.set("last_flush_epoch_s", now_s)

    def tell_active(self) -> None:
        """Set the figures of what the sink has taken and not committed."""
        lag = self._partitions.lag
        self._figures.level("active_rows", lag.active_rows)
        self._figures.set("active_bytes", lag.active_bytes)

    def tell_lag_if_due(self, read: Collection[TopicPartition] = ()) -> None:
        """Set the figures of the lag, unless that was done within the last second, with the ends of partitions that
        rows were `read` of.
        """
        seen = () if self._look is None else self._look.ends
        if time.monotonic() >= self._next_lag_s or any(tp not in seen for tp in read):
            self.tell_lag()

    def tell_lag(self) -> None:
        """Set the figures of the lag: how many rows in Kafka are not committed, and how old the oldest of them is.

        The age of rows that were not read yet is not known: it counts from when their offsets were first seen.
        """
        is_late = self._is_late()
        self._next_lag_s = time.monotonic() + LAG_S
        ends, lag = self._consumer.end_offsets(), self._partitions.lag
        lag.all_taken(self._partitions.taken_ends(self._consumer.reached_ends()))
        positions = {**self._consumer.position(ends), **self._partitions.firsts}
        oldest_ms = lag.oldest_ms()
        lag.never_read(self._consumer.deleted_unread())
        rows, now_s = lag.rows(ends, positions), time.time()
        self._figures.set("lag_rows", rows)
        # Rows that came while the task was busy count from its last look on.
        came_s = self._look.at_s if self._look is not None and is_late else now_s
        untaken_s = lag.untaken_since_s(ends, positions, came_s)
        times_s = (untaken_s, None if oldest_ms is None else oldest_ms / 1000)
        since_s = min((at_s for at_s in times_s if at_s is not None), default=None)
        self._figures.set_since("lag_s", since_s)
        self._look = _Look(now_s, self._consumer.fetched.of(ends), rows, since_s)

    def _while_busy(self) -> Mapping[str, float]:
        """Return the lag with the rows that came since the last look, if that is long ago. Any thread may ask."""
        look = self._look
        if look is None or not self._is_late():
            return {}
        more = sum(max(0, end - look.ends[tp]) for tp, end in self._consumer.fetched.of(look.ends).items())
        since_s = look.at_s if look.since_s is None else look.since_s
        return {"lag_rows": look.rows + more, "lag_s": max(0.0, time.time() - since_s)} if more else {}

    def _is_late(self) -> bool:
        return time.monotonic() > self._next_lag_s - LAG_S + BUSY_S

    def _tell_tail(self) -> None:
        """Say in words what the sink keeps back while nothing more comes.

        A sink that soon wants to be asked again writes what it has without more rows.
        """
        kept = self._partitions.lag.uncommitted()
        if kept and not self._took_rows and self._asked_within_s > self._limits.flush_interval_s:
            first = min(kept)
            more = f" and {len(kept) - 1} more partitions" if len(kept) > 1 else ""
            self._conditions.waiting(
                Step.TAIL,
                "rows",
                f"The sink keeps {sum(kept.values())} rows of {first.topic}-{first.partition}{more} until more rows "
                "come: they do not yet fill what it writes (for files: flush.size and the rotation keys). They are "
                "safe in Kafka.",
            )
        else:
            self._conditions.over(Step.TAIL)
        self._took_rows = False
