"""The life of a sink task: read, convert, put, flush, and commit exactly what the sink says is durable (invariant 2).

The consumer is polled from the same thread, also between two tries of a refused put, so the group never loses a live
task; a put gets a deadline well inside `max.poll.interval.ms`.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from connect.api.connector import SinkTask
from connect.api.errors import ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connect.kafka.client.errors import FencedError
from connect.kafka.consume.consumer import BatchConsumer
from connect.kafka.raw import RawBatch
from connect.lib.backoff import delays_s
from connect.lib.deadline import Deadline
from connect.runtime.records.dead_letter import DeadLetters
from connect.runtime.records.pipeline import SinkPipeline, bad_sink_rows
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import LimitExceededError, Stage, Tolerance, ToleranceExceededError
from connect.runtime.task.committed_lag import CommittedLag
from connect.runtime.task.condition import Conditions, Step
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.used_topics import UsedTopics

log = logging.getLogger(__name__)

POLL_TIMEOUT_S = 0.5
PAUSED_WAIT_S = 0.2
UNASSIGNED_S = 15.0
"""A group that has just been joined needs a while to give out partitions."""


class SinkLoop:
    """Runs one sink task on the calling thread until `stop` is set."""

    def __init__(
        self,
        task: SinkTask,
        consumer: BatchConsumer,
        *,
        task_class: str,
        pipeline: SinkPipeline,
        tolerance: Tolerance,
        dead_letters: DeadLetters | None,
        figures: TaskFigures,
        max_records: int,
        put_timeout_s: float,
        flush_interval_s: float,
        flush_timeout_s: float,
        retry_delay_max_s: float,
        used_topics: UsedTopics,
        retries: RetryBudget,
        conditions: Conditions | None = None,
    ) -> None:
        self._task = task
        self._task_class = task_class
        self._consumer = consumer
        self._pipeline = pipeline
        self._tolerance = tolerance
        self._dead_letters = dead_letters
        self._figures = figures
        self._max_records = max_records
        self._put_timeout_s = put_timeout_s
        self._flush_interval_s = flush_interval_s
        self._flush_timeout_s = flush_timeout_s
        self._retry_delay_max_s = retry_delay_max_s
        self._used_topics = used_topics
        self._retries = retries
        self._conditions = conditions or Conditions(lambda _: None)
        self._lag = CommittedLag()
        self._read_since_flush = False
        self._began_s = time.monotonic()
        self._taken: dict[TopicPartition, int] = {}
        self._firsts: dict[TopicPartition, int] = {}
        self._commits: dict[TopicPartition, int] = {}
        self._assigned: set[TopicPartition] = set()
        self._revoked_since_poll: set[TopicPartition] = set()
        self._next_flush_s = 0.0
        self._asked_within_s = math.inf
        self._ended = False

    def run(self, control: Control, on_paused: Callable[[bool], None], subscription: Sequence[str] | str) -> None:
        """Consume until stopped, then flush and commit. Any error but RetriableError ends the task.

        `on_paused` hears of a pause once nothing more is put, and of its end.
        """
        self._next_flush_s = time.monotonic() + self._flush_interval_s
        self._consumer.subscribe(subscription, self._on_assigned, self._on_revoked, self._on_lost)
        try:
            while not control.stopping:
                control.heard()
                if control.paused:
                    self._rest(control, on_paused)
                else:
                    self._step(control)
        except (ToleranceExceededError, LimitExceededError) as error:
            if error.row.stage is not Stage.TASK_PUT:
                # Everything before the bad record was taken: keep it, so that a restart begins at that record.
                self._flush(Deadline.after(self._flush_timeout_s))
            # Of a batch that the sink refused a row of it has the rows behind that one, too. Were they made durable, an
            # object that covers them would keep the row out for ever, also once it is mended.
            raise
        else:
            self._flush(Deadline.after(self._flush_timeout_s))
        finally:
            self._ended = True

    def request_flush(self, within_s: float = 0.0) -> None:
        """The sink asks for a flush in at most so many seconds."""
        self._asked_within_s = min(self._asked_within_s, within_s)
        self._next_flush_s = min(self._next_flush_s, time.monotonic() + within_s)

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """The sink gives up rows after put returned."""
        self._tolerance.give_up(bad_sink_rows(Stage.TASK_PUT, self._task_class, batch, rows))

    def owns(self, partition: TopicPartition, deadline: Deadline) -> bool:
        """Ask the group, whose coordinator takes commits from members alone: the same offset is committed again.

        RetriableError: it does not answer, or a rebalance is on.
        """
        if partition not in self._commits:
            self._commits |= self._consumer.committed([partition], deadline)
        at = self._commits.get(partition, self._firsts.get(partition))
        assert at is not None, f"nothing was read of {partition}"
        try:
            self._consumer.commit({partition: at}, deadline)
        except FencedError as error:
            log.warning("Another task has taken %s-%d over: %s", *partition, error)
            return False
        return True

    def _step(self, control: Control) -> None:
        stop = control.stop
        until_flush_s = max(0.0, self._next_flush_s - time.monotonic())
        deadline = Deadline.after(min(POLL_TIMEOUT_S, until_flush_s), control.bell)
        with self._figures.timed("poll_s_total"):
            batches = self._consumer.poll(self._max_records, deadline)
        self._revoked_since_poll.clear()
        self._tell_idle(bool(batches))
        for raw in batches:
            if stop.is_set():
                return
            with self._figures.batch(raw.topic, len(raw), raw.headers or ()):
                self._take(raw, stop)
        if time.monotonic() >= self._next_flush_s:
            self._flush(Deadline.after(self._flush_timeout_s))

    def _rest(self, control: Control, on_paused: Callable[[bool], None]) -> None:
        """Flush once, then keep polling without taking anything: a silent consumer would be put out of its group."""
        on_paused(True)
        self._flush(Deadline.after(self._flush_timeout_s))
        self._consumer.pause(self._assigned)
        while control.paused and not control.stopping:
            control.heard()
            self._poll_paused()
            if control.paused:
                control.bell.wait(PAUSED_WAIT_S)
        self._consumer.resume(self._assigned)
        if not control.stopping:
            on_paused(False)

    def _poll_paused(self) -> None:
        stray = self._consumer.poll(0, Deadline.after(0.0))
        for raw in stray:
            # A partition assigned while paused may deliver before it is paused: take it back, read it again later.
            tp = _place(raw)
            self._consumer.seek(tp, _first_offset(raw))
            self._consumer.pause([tp])

    def _take(self, raw: RawBatch, stop: threading.Event) -> None:
        tp = _place(raw)
        if tp not in self._assigned or tp in self._revoked_since_poll:
            return
        self._used_topics.add(raw.topic)
        self._firsts.setdefault(tp, _first_offset(raw))
        self._figures.add("polled_rows_total", len(raw))
        self._tolerance.saw(len(raw))
        if self._dead_letters is not None:
            self._dead_letters.current = raw
        try:
            batches = self._decode(tp, raw, stop)
        except ToleranceExceededError as error:
            self._take_before(raw, error, stop)
            raise
        if batches is None:
            return
        for i, batch in enumerate(batches):
            if not self._put(tp, batch, stop, whole=i == 0):
                return
        assert raw.next_offset is not None
        self._taken[tp] = raw.next_offset
        self._lag.took(tp, raw)
        self._read_since_flush = True
        self._figures.add("batches_total")
        self._figures.add("rows_total", sum(len(batch) for batch in batches))
        self._figures.add("bytes_total", raw.size_bytes)

    def _decode(self, tp: TopicPartition, raw: RawBatch, stop: threading.Event) -> list[Batch] | None:
        """Return the rows as batches, tried again within errors.retry.timeout; None when stop or a rebalance came
        first.
        """
        delays = delays_s(self._retry_delay_max_s)
        while True:
            try:
                with self._figures.timed("convert_s_total"):
                    batches = self._pipeline.decode(raw)
            except RetriableError as error:
                self._retries.failed(error, f"A batch of {tp.topic}-{tp.partition}")
                self._conditions.retrying(Step.CONVERT, "converter", error, delay_s := next(delays))
                goes_on = self._wait_to_retry("A conversion", error, delay_s, stop, whole=True)
                if not goes_on or tp in self._revoked_since_poll:
                    return None
            else:
                self._retries.succeeded()
                self._conditions.over(Step.CONVERT)
                return batches

    def _take_before(self, raw: RawBatch, error: ToleranceExceededError, stop: threading.Event) -> None:
        """Deliver the good rows before the one that ends the task."""
        assert raw.offsets is not None
        before = sum(1 for offset in raw.offsets.to_pylist() if offset < (error.row.offset or 0))
        if before:
            self._take(replace(raw.slice(0, before), next_offset=error.row.offset), stop)

    def _put(self, tp: TopicPartition, batch: Batch, stop: threading.Event, *, whole: bool) -> bool:
        """Put a batch until it is taken; False when stop or a rebalance ended that before.

        `whole`: nothing that was read together with it has been put.
        """
        delays = delays_s(self._retry_delay_max_s)
        while True:
            try:
                with self._figures.timed("put_s_total"):
                    self._task.put(batch, Deadline.after(self._put_timeout_s, stop))
            except RetriableError as error:
                self._conditions.retrying(Step.PUT, "sink", error, delay_s := next(delays))
                goes_on = self._wait_to_retry("put", error, delay_s, stop, whole=whole)
                if not goes_on or tp in self._revoked_since_poll:
                    return False
            except RejectedRowsError as error:
                self._conditions.over(Step.PUT)
                self._tolerance.give_up(bad_sink_rows(Stage.TASK_PUT, self._task_class, batch, error.rows))
                return True
            else:
                self._conditions.over(Step.PUT)
                return True

    def _wait_to_retry(
        self, what: str, error: RetriableError, delay_s: float, stop: threading.Event, *, whole: bool
    ) -> bool:
        """Wait while serving the group, and commit what is due of other rows; False when stop ended the wait.

        A sink that has some batches of a read and not the others is not asked to flush, but for a rebalance.
        """
        self._figures.add("retries_total")
        log.warning("%s is tried again in %.1f s: %s", what, delay_s, error)
        self._consumer.pause(self._assigned)
        wait = Deadline.after(delay_s, stop)
        while wait.wait(PAUSED_WAIT_S):
            self._poll_paused()
        if whole and time.monotonic() >= self._next_flush_s and not stop.is_set():
            self._flush(Deadline.after(self._flush_timeout_s))
        self._consumer.resume(self._assigned)
        return not stop.is_set()

    def _flush(self, deadline: Deadline) -> None:
        self._next_flush_s = time.monotonic() + self._flush_interval_s
        self._asked_within_s = math.inf
        waiting_for = "sink"
        with self._figures.timed("flush_s_total"):
            try:
                durable = self._durable(deadline)
                waiting_for = "kafka"
                if durable:
                    self._consumer.commit(durable, deadline)
                    self._commits |= durable
                    self._lag.committed(durable)
                    log.debug("Committed the offsets of %d partitions.", len(durable))
                    self._figures.set("last_flush_epoch_s", time.time())
            except RetriableError as error:
                self._figures.add("flush_failures_total")
                log.warning("Offsets were not committed this time: %s", error)
                self._conditions.retrying(Step.FLUSH, waiting_for, error, self._flush_interval_s)
            else:
                self._conditions.over(Step.FLUSH)
        self._tell_lag()

    def _tell_idle(self, has_rows: bool) -> None:
        """Say why no rows come, where there is more to say than that the topics have none."""
        trouble = None if has_rows else self._consumer.trouble
        if trouble is not None:
            self._conditions.waiting(Step.POLL, "kafka", trouble)
        elif not has_rows and not self._assigned and time.monotonic() - self._began_s >= UNASSIGNED_S:
            self._conditions.waiting(
                Step.POLL,
                "kafka",
                "The consumer group has given this task no partition: the topics do not exist, have fewer partitions "
                "than there are tasks, or the group is still joining.",
            )
        else:
            self._conditions.over(Step.POLL)

    def _tell_lag(self) -> None:
        """Lag is what is not committed; what the sink keeps back while nothing more comes is said in words.

        A sink that soon wants to be asked again writes what it has without more rows.
        """
        ends = self._consumer.end_offsets()
        self._figures.set("lag_rows", self._lag.rows(ends, self._consumer.position(ends)))
        oldest_ms = self._lag.oldest_ms()
        self._figures.set("lag_s", 0.0 if oldest_ms is None else max(0.0, time.time() - oldest_ms / 1000))
        kept = self._lag.uncommitted()
        if kept and not self._read_since_flush and self._asked_within_s > self._flush_interval_s:
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
        self._read_since_flush = False

    def _durable(self, deadline: Deadline) -> dict[TopicPartition, int]:
        """What the sink claims, or nothing: an offset it never claimed may lie in the middle of what it wrote as one.

        A claim beyond the last batch taken whole waits, as rows of that batch may still be refused. Dead letters are
        acknowledged first.
        """
        claimed = self._task.flush(deadline)
        if self._dead_letters is not None:
            self._dead_letters.flush(deadline)
        taken = {tp: offset for tp, offset in self._taken.items() if tp in self._assigned}
        return {tp: offset for tp, offset in claimed.items() if offset <= taken.get(tp, -1)}

    def _on_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self._assigned.update(partitions)
        self._figures.set("assigned_partitions", len(self._assigned))
        self._task.assigned(partitions)

    def _on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        if not self._ended:
            self._flush(Deadline.after(self._flush_timeout_s))
        self._on_lost(partitions)

    def _on_lost(self, partitions: Collection[TopicPartition]) -> None:
        self._task.revoked(partitions)
        self._lag.lost(partitions)
        for tp in partitions:
            self._assigned.discard(tp)
            self._revoked_since_poll.add(tp)
            self._taken.pop(tp, None)
            self._firsts.pop(tp, None)
            self._commits.pop(tp, None)
        self._figures.set("assigned_partitions", len(self._assigned))


def _place(raw: RawBatch) -> TopicPartition:
    if raw.partition is None:
        raise ConnectError(f"A batch read from topic {raw.topic} has no partition.")
    return TopicPartition(raw.topic, raw.partition)


def _first_offset(raw: RawBatch) -> int:
    assert raw.offsets is not None
    return int(raw.offsets[0].as_py())
