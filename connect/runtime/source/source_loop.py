"""Runs a source task: polls, converts and sends rows, and stores an offset only once Kafka has its rows.

There are two ways to deliver. At least once: an idempotent producer sends rows, and their offsets follow in the offset
store. Exactly once: rows and offsets are in one Kafka transaction (KIP-618), so a crash leaves both or neither.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from connect.api.errors import RetriableError
from connect.api.optional.prompt_polls import PromptPolls
from connect.api.records import Batch, SourcePosition
from connect.kafka.raw import RawBatch
from connect.lib.backoff import delays_s
from connect.lib.deadline import Deadline
from connect.runtime.records.pipeline import Encoded
from connect.runtime.settings.loop_limits import LoopLimits
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.task.condition import Step
from connect.runtime.task.control import Control
from connect.runtime.task.idle_memory import IdleMemory
from connect.runtime.task.task_reports import TaskReports
from connect.runtime.topics.source_topics import state_records
from connect.runtime.topics.topic_creation import Topics

log = logging.getLogger(__name__)

POLL_TIMEOUT_S = 1.0
IDLE_POLL_TIMEOUT_S = 3.0
"""A poll of an idle task may take so long: with hundreds of idle tasks, to wake up is most of what a host does.

`LoopLimits.poll_max_s` is this long by default, and bounds each poll.
"""
PROMPT_POLL_TIMEOUT_S = 10.0
"""A poll of an idle task that ends at once when it is asked to may take so long (`PromptPolls`).

It is less than the time after which a call counts as one that does not return.
"""
IDLE_POLLS = 3
"""A task is idle after so many polls without rows."""
MORE_TIMEOUT_S = 0.1
"""A poll lasts at most so long while an open transaction with rows waits for the rows that the poll may bring."""
PAUSED_WAIT_S = 0.2


class Delivery(Protocol):
    """Brings rows and offsets to Kafka. It is owned by the task thread."""

    held_up: str | None
    """Says in a sentence which rows have waited for Kafka since the flush before the last one; None if none have."""

    @property
    def outstanding(self) -> int:
        """Return the number of rows that were sent and are not in Kafka for good yet."""

    @property
    def expects_more(self) -> bool:
        """Tell if rows that were sent become visible only after the next poll, which is to be a short one."""

    @property
    def is_settled(self) -> bool:
        """Tell if a flush would find nothing to do: no row is on its way, and each position is stored and told of."""

    def send(
        self,
        batches: Sequence[RawBatch],
        positions: Sequence[SourcePosition],
        deadline: Deadline,
        meanwhile: Callable[[], None],
    ) -> None:
        """Send the rows of one poll, and keep the positions behind them. Rows may be in flight when this returns.

        `meanwhile` is called from time to time while the producer's queue is full; it may flush.
        """

    def flush(self, deadline: Deadline, *, pending: bool) -> list[SourcePosition]:
        """Store the offsets that are safe, and return the positions that were stored since the last call.

        `pending` says that batches of the last poll are not sent yet. After a RetriableError call it again.
        """

    def drain(self, deadline: Deadline, *, pending: bool) -> list[SourcePosition]:
        """Wait for all rows on their way and flush as `flush` does, because the task rests or ends."""

    def leave(self, deadline: Deadline, *, pending: bool) -> list[SourcePosition]:
        """Store the offsets that are safe though an error ends the task, as `drain` does, or nothing."""

    def close(self) -> None:
        """End what is half done in Kafka. Must not raise."""

    def check(self) -> None:
        """Raise the first error of rows in flight."""

    def due(self, *, polled: bool, interval_over: bool) -> bool:
        """Return True if it is time to flush. `polled` says that a poll's rows were just sent."""


class Flush(Protocol):
    """Calls `Delivery.flush`, `Delivery.drain` or `Delivery.leave`."""

    def __call__(self, deadline: Deadline, *, pending: bool) -> list[SourcePosition]:
        """Return the positions that were stored."""


class SourceLoop:
    """Runs one source task on the calling thread until `stop` is set."""

    def __init__(
        self, path: SourceRecordPath, delivery: Delivery, topics: Topics, limits: LoopLimits, reports: TaskReports
    ) -> None:
        """Take the parts of the task. `topics` makes missing topics before rows are sent to them."""
        self._path = path
        self._delivery = delivery
        self._topics = topics
        self._limits = limits
        self._figures = reports.figures
        self._used_topics = reports.used_topics
        self._conditions = reports.conditions
        self._doing = (Step.POLL, "source")
        self._pending: Sequence[Batch] = ()
        """Holds the batches of the last poll until they are sent."""
        self._encoded: list[Encoded] = []
        """Holds the records of the first batches of `_pending`, which are converted already."""
        self._next_flush_s = 0.0
        self._memory = IdleMemory()
        self._is_prompt = isinstance(path.task, PromptPolls)
        self._empty_polls = 0

    def run(self, control: Control, on_paused: Callable[[bool], None]) -> None:
        """Poll until stopped, then store what is safe. Any error but RetriableError ends the task, too.

        `on_paused` is called with True once a pause has ended the polls, and with False when they go on.
        """
        try:
            self._run(control, on_paused)
        except Exception:
            # Rows of former polls may be in Kafka since the last flush: otherwise the next run sends them again.
            try:
                self._flush(self._delivery.leave)
            except Exception as further:  # noqa: BLE001 - the first error is the one that ends the task
                log.warning("The offsets of the last rows were not stored, as the task ends: %s", further)
            raise
        self._flush(self._delivery.drain)

    def _run(self, control: Control, on_paused: Callable[[bool], None]) -> None:
        self._next_flush_s = time.monotonic() + self._limits.flush_interval_s
        delays = delays_s(self._limits.retry_delay_max_s)
        while not control.stopping:
            control.heard()
            self._delivery.check()
            if control.paused:
                self._rest(control, on_paused)
                continue
            try:
                self._step(control)
                delays = delays_s(self._limits.retry_delay_max_s)
                self._conditions.over(Step.POLL, Step.CONVERT, Step.PUT)
            except RetriableError as error:
                self._figures.add("retries_total")
                delay_s = next(delays)
                step, waiting_for = self._doing
                if step is Step.POLL:
                    self._figures.is_away()
                self._conditions.retrying(step, waiting_for, error, delay_s)
                log.warning("Retrying in %.1f s: %s", delay_s, error)
                # The offsets of rows that were delivered before are stored meanwhile, however long this takes.
                self._flush_if_due(polled=False)
                control.bell.wait(delay_s)

    def _rest(self, control: Control, on_paused: Callable[[bool], None]) -> None:
        on_paused(True)
        self._flush(self._delivery.drain)
        self._figures.is_away()
        while control.paused and not control.stopping:
            control.heard()
            self._delivery.check()
            if control.paused:
                control.bell.wait(PAUSED_WAIT_S)
        if not control.stopping:
            on_paused(False)

    def _step(self, control: Control) -> None:
        if control.stopping:
            return
        # A batch that cannot be converted for now is not polled again: no later one may be sent before it.
        unit = self._pending = self._pending or self._poll(control.bell)
        if unit:
            with self._figures.batch(unit[0].topic, sum(map(len, unit)), ()):
                self._deliver(unit, control.stop)
            self._pending, self._encoded = (), []
        self._flush_if_due(polled=bool(unit))
        self._memory.polled(has_rows=bool(unit))
        self._empty_polls = 0 if unit else self._empty_polls + 1

    def _flush_if_due(self, *, polled: bool) -> None:
        if self._delivery.due(polled=polled, interval_over=time.monotonic() >= self._next_flush_s):
            self._flush(self._delivery.flush)

    def _poll(self, bell: threading.Event) -> Sequence[Batch]:
        self._doing = (Step.POLL, "source")
        most_s = math.inf if self._is_prompt else self._limits.poll_max_s
        return self._path.poll(Deadline.after(min(self._poll_timeout_s(), most_s), bell))

    def _poll_timeout_s(self) -> float:
        if self._delivery.expects_more:
            return MORE_TIMEOUT_S
        if self._empty_polls < IDLE_POLLS or self._delivery.outstanding:
            return POLL_TIMEOUT_S
        idle_s = PROMPT_POLL_TIMEOUT_S if self._is_prompt else IDLE_POLL_TIMEOUT_S
        if self._delivery.is_settled:
            return idle_s
        return min(idle_s, max(POLL_TIMEOUT_S, self._next_flush_s - time.monotonic()))

    def _deliver(self, unit: Sequence[Batch], stop: threading.Event) -> None:
        for batch in unit[len(self._encoded) :]:
            self._doing = (Step.CONVERT, "converter")
            self._encoded.append(self._path.encode(batch))
        self._doing = (Step.PUT, "kafka")
        unbounded = Deadline(float("inf"), stop)
        made = [raw for encoded in self._encoded for raw in encoded.rows]
        for raw in made:
            self._topics.ensure(raw.topic, unbounded)
        with self._figures.timed("send_s_total"):
            # Dead letters go with the rows: acknowledged before the offset is stored, or in the same transaction.
            letters = [letter for encoded in self._encoded for letter in encoded.letters]
            states = [state for batch in unit for state in state_records(batch)]
            rows = [self._figures.stamped(raw) for raw in made]
            positions = [batch.position for batch in unit if batch.position is not None]
            meanwhile = partial(self._flush_if_due, polled=False)
            self._delivery.send([*rows, *self._path.rejected, *letters, *states], positions, unbounded, meanwhile)
        self._path.rejected.clear()
        self._figures.add("batches_total", len(unit))
        for raw in made:
            self._used_topics.add(raw.topic)
            self._figures.add("rows_total", len(raw))
            self._figures.add("bytes_total", raw.size_bytes)
        self._figures.level("active_rows", self._delivery.outstanding)

    def _flush(self, flush: Flush) -> None:
        deadline = Deadline.after(self._limits.flush_timeout_s)
        self._next_flush_s = time.monotonic() + self._limits.flush_interval_s
        with self._figures.timed("flush_s_total"):
            try:
                stored = flush(deadline, pending=bool(self._pending))
            except RetriableError as error:
                self._figures.flushed(well=False)
                log.warning("Offsets were not stored this time: %s", error)
                self._conditions.retrying(Step.FLUSH, "kafka", error, self._limits.flush_interval_s)
                return
        self._figures.flushed(well=True)
        self._figures.level("active_rows", self._delivery.outstanding)
        if self._delivery.held_up is None:
            self._conditions.over(Step.FLUSH)
        else:
            log.warning("%s", self._delivery.held_up)
            self._conditions.waiting(Step.FLUSH, "kafka", self._delivery.held_up)
        if stored:
            self._figures.add("commits_total")
            self._figures.set("last_flush_epoch_s", time.time())
            log.debug("Stored the offsets of %d source partitions.", len(stored))
            self._path.task.stored(stored)
