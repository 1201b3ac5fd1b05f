"""Drives one life of a sink's task over a log of rows, as the framework would, without Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.connector import SinkTask
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.plugin import Plugin
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.drivers import ROW_SCHEMA, Row
from connect.testing.fakes import FakeSinkContext
from connect.testing.source_run import DEADLINE_FIX, build_connector, leave_everywhere
from connect.testing.task_thread import CALL_LIMIT_S, TaskThread

KeyOf = Callable[[int], tuple[Any, s.Schema | None] | None]
"""Makes from a row's id its key and the key's schema; None if the row has no key."""
CALL_S = 10.0
KEY_SCHEMA = s.struct({"id": s.INT64})


@dataclass(frozen=True)
class FakeLog:
    """Holds Kafka partitions of one topic as a sink sees them: a row's index in its list is its offset.

    A row of None is a tombstone. If `schema` is None the rows are schemaless, and so not in Arrow form. `keys` holds
    the ids of each partition's rows, for tombstones.
    """

    topic: str
    rows: Mapping[int, Sequence[Row | None]]
    schema: s.Schema | None = ROW_SCHEMA
    keys: Mapping[int, Sequence[int]] = field(default_factory=dict)
    key_of: KeyOf = lambda row_id: ({"id": row_id}, KEY_SCHEMA)
    as_arrow: bool = True

    def batch(self, partition: int, start: int, stop: int, *, next_offset: int | None = None) -> Batch:
        """Return the rows of offsets start..stop-1; `next_offset` is later than `stop` where rows were dropped."""
        import pyarrow as pa

        rows = list(self.rows[partition][start:stop])
        ids = self.keys[partition][start:stop] if self.keys else [row["id"] for row in rows if row is not None]
        return Batch(
            self.topic,
            values=self._column(rows, self.schema),
            keys=self._keys(ids),
            timestamps_ms=pa.array([1_700_000_000_000 + i for i in range(start, stop)], pa.int64()),
            partition=partition,
            consumed=Consumed(
                TopicPartition(self.topic, partition), pa.array(range(start, stop), pa.int64()), next_offset or stop
            ),
        )

    def batches(self, cut: int, committed: Mapping[TopicPartition, int] | None = None) -> Iterator[Batch]:
        """Yield all rows from the committed offsets on, `cut` rows a batch, the partitions in turn."""
        starts = {p: (committed or {}).get(TopicPartition(self.topic, p), 0) for p in self.rows}
        while any(starts[p] < len(rows) for p, rows in self.rows.items()):
            for partition, rows in self.rows.items():
                if (start := starts[partition]) < len(rows):
                    starts[partition] = min(start + cut, len(rows))
                    yield self.batch(partition, start, starts[partition])

    @property
    def partitions(self) -> list[TopicPartition]:
        """Return the partitions of this log."""
        return [TopicPartition(self.topic, p) for p in self.rows]

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Return the offset after the last row of each partition."""
        return {TopicPartition(self.topic, p): len(rows) for p, rows in self.rows.items()}

    def _keys(self, ids: Sequence[int]) -> Column | None:
        keys = [key for key in map(self.key_of, ids) if key is not None]
        if not keys:
            return None if ids else self._column([], KEY_SCHEMA)
        return self._column([value for value, _ in keys], keys[0][1])

    def _column(self, rows: Sequence[Any], schema: s.Schema | None) -> Column:
        import pyarrow as pa

        if self.as_arrow and schema is not None:
            return Column.from_arrow(pa.array(rows, arrow_type(schema)), schema)
        return Column.from_rows(rows, schema)


@dataclass
class SinkRun:
    """Drives a sink's task on one thread.

    `claimed` holds the last offsets that `flush` returned per partition, and `rejected` the refused rows. `task_number`
    tells which of the connector's `max_tasks` tasks it is.
    """

    plugin: Plugin
    config: Mapping[str, str]
    claimed: dict[TopicPartition, int] = field(default_factory=dict)
    context: FakeSinkContext = field(default_factory=FakeSinkContext)
    rejected: dict[tuple[TopicPartition, int], Exception] = field(default_factory=dict)
    max_tasks: int = 1
    task_number: int = 0

    def __post_init__(self) -> None:
        self.thread = TaskThread("sink")
        self.task: SinkTask | None = None
        self._put: dict[TopicPartition, int] = {}
        self._owned: set[TopicPartition] = set()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def open(self) -> Self:
        """Plan the tasks and open this one. A task whose `open` fails is closed, and the error raised."""
        connector = self._call("factory", lambda: build_connector(self.plugin, self.config))
        configs = self._call("task_configs", lambda: connector.task_configs(self.max_tasks))
        assert len(configs) > self.task_number, (
            f"There is no task {self.task_number}: task_configs gave {len(configs)}."
        )
        config = configs[self.task_number]
        self.context.task = self.task_number
        task = cast("SinkTask", self._call("task", lambda: connector.task(leave_everywhere(config))))
        self.task = task
        try:
            self._call("open", lambda: task.open(self.context))
        except BaseException:
            self.close()
            raise
        return self

    def assign(self, partitions: Sequence[TopicPartition]) -> Self:
        """Give the task these partitions."""
        self._owned |= set(partitions)
        self._call("assigned", lambda: self._running.assigned(partitions))
        return self

    def put(self, batch: Batch, *, timeout_s: float = CALL_S, grace_s: float = CALL_LIMIT_S) -> None:
        """Put a batch; rows the task rejects are kept in `rejected`, as the framework would dead-letter them."""
        task = self._running
        what = f"put with a deadline of {timeout_s:g} s"
        try:
            self._timed(what, lambda: task.put(batch, Deadline.after(timeout_s)), timeout_s + grace_s)
        except RejectedRowsError as error:
            assert batch.consumed is not None
            for index, reason in error.rows.items():
                self.rejected[batch.consumed.topic_partition, batch.consumed.offsets[index].as_py()] = reason
        if batch.consumed is not None:
            self._put[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, *, timeout_s: float = CALL_S, grace_s: float = CALL_LIMIT_S) -> dict[TopicPartition, int]:
        """Flush, check the claims against the contract, and keep them."""
        task = self._running
        what = f"flush with a deadline of {timeout_s:g} s"
        claims = dict(self._timed(what, lambda: task.flush(Deadline.after(timeout_s)), timeout_s + grace_s))
        for partition, offset in claims.items():
            self._check_claim(partition, offset)
        self.claimed |= claims
        return claims

    def try_flush(self) -> None:
        """Flush as the framework does: a flush that raises RetriableError claims nothing, and another one follows."""
        with suppress(RetriableError):
            self.flush()

    def flush_until(self, ends: Mapping[TopicPartition, int], *, within_s: float) -> bool:
        """Flush until each partition is claimed up to its end, or the time is over; return True if it was.

        A flush that says RetriableError is called again, as the framework does; the last one's is raised.
        """
        deadline = Deadline.after(within_s)
        while True:
            try:
                self.flush()
            except RetriableError:
                if not deadline.wait(0.05):
                    raise
                continue
            if all(self.claimed.get(p, 0) >= end for p, end in ends.items()):
                return True
            if not deadline.wait(0.05):
                return False

    def put_all(self, log: FakeLog, cut: int, *, flush_each: bool = False) -> None:
        """Put the rest of the log from what is claimed on."""
        for batch in log.batches(cut, self.claimed):
            self.put(batch)
            if flush_each:
                self.try_flush()

    def revoke(self, partitions: Sequence[TopicPartition]) -> None:
        """Take partitions from the task."""
        self._owned -= set(partitions)
        self._call("revoked", lambda: self._running.revoked(partitions))

    def crash(self) -> None:
        """Drop the task where it stands, without `close`."""
        self.task = None
        self.thread.end()

    def close(self) -> None:
        """Close the task. Calling it twice is harmless."""
        task, self.task = self.task, None
        try:
            if task is not None:
                self._call("close", task.close)
        finally:
            self.thread.end()

    @property
    def refused_offsets(self) -> set[int]:
        """Return the offsets of the rows refused by `put` or later, of all partitions."""
        later = {row.record.offset for row in self.context.rejected if row.record.offset is not None}
        return {offset for _, offset in self.rejected} | later

    @property
    def _running(self) -> SinkTask:
        assert self.task is not None, "The task was closed or dropped."
        return self.task

    def _check_claim(self, partition: TopicPartition, offset: int) -> None:
        assert partition in self._owned, f"flush claimed {partition}, which this task does not own."
        given = self._put.get(partition, self.claimed.get(partition, 0))
        assert offset <= given, f"flush claimed {partition} up to {offset}, but only {given} was put."
        before = self.claimed.get(partition, 0)
        assert offset >= before, f"flush claimed {partition} up to {offset} after {before}: claims must not go back."

    def _timed(self, what: str, run: Callable[[], Any], limit_s: float) -> Any:
        return self.thread.call(what, run, limit_s=limit_s, fix=DEADLINE_FIX)

    def _call(self, what: str, run: Callable[[], Any]) -> Any:
        return self.thread.call(what, run)
