"""Makes tables ready side by side. Records of a table that is not ready wait while a thread makes BigQuery's requests.

A table takes several requests, and one poll may bring records of hundreds of tables. The task thread owns this. While a
thread makes a table ready, no other thread touches that table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from connect.api.errors import RetriableError, SchemaError
from connect.api.records import Batch, Column, TopicPartition
from connect.lib.backoff import delay_s
from connectors.bigquery.write.intake import Intake, taken_in
from connectors.bigquery.write.tables_ready import TargetTables


class Taken(NamedTuple):
    """Holds a batch that has waited for its table, and the rows that were made of it."""

    batch: Batch
    intake: Intake


class _Taking(NamedTuple):
    """Holds a batch whose table a thread makes ready now, and the outcome."""

    batch: Batch
    outcome: Future[Intake]


@dataclass(slots=True)
class _Table:
    """Holds the batches of one table in the order in which they came. A thread makes the table ready for the first one.

    `failure` says why that failed and is tried again.
    """

    batches: deque[Batch] = field(default_factory=deque)
    taking: _Taking | None = None
    failure: RetriableError | None = None
    failures: int = 0
    retry_at_s: float = 0.0


class FirstRecords:
    """Keeps the batches whose table has to be created, looked at or widened first, in the order in which they came."""

    def __init__(self, targets: TargetTables, threads: int, threads_name: str) -> None:
        self._targets = targets
        self._threads = ThreadPoolExecutor(threads, threads_name)
        self._tables: dict[str, _Table] = {}
        self._untold: list[RetriableError] = []
        self._held_bytes = 0

    @property
    def failures(self) -> Iterator[tuple[str, RetriableError]]:
        """Yield the tables that could not be made ready and are tried again, each with the reason."""
        return ((name, one.failure) for name, one in self._tables.items() if one.failure is not None)

    @property
    def are_waiting(self) -> bool:
        """Return True if a table is being made ready."""
        return bool(self._tables)

    @property
    def held_bytes(self) -> int:
        """Return the bytes of all records that wait."""
        return self._held_bytes

    def holds(self, batch: Batch) -> bool:
        """Keep a batch if its table is not ready, or if earlier batches wait for that table.

        Return False if the batch can be taken at once; then it is not kept.
        """
        target = self._targets.target(batch)
        if target not in self._tables and self._targets.is_ready(batch):
            return False
        self._tables.setdefault(target, _Table()).batches.append(batch)
        self._held_bytes += _size_bytes(batch)
        return True

    def is_at(self, target: str) -> bool:
        """Return True if records wait for this table, so that a thread may be making or widening it."""
        return target in self._tables

    def advance(self, now_s: float) -> Iterator[Taken]:
        """Yield the batches whose table is ready by now, and start threads for the next ones, without waiting.

        A table that fails with RetriableError is tried again, with growing waits. Any other error is raised here.
        """
        for target, one in list(self._tables.items()):
            if one.taking is not None and one.taking.outcome.done():
                yield from self._taken(one, one.taking, now_s)
            if one.taking is None and not one.batches:
                del self._tables[target]
            elif one.taking is None and now_s >= one.retry_at_s:
                first = one.batches[0]
                one.taking = _Taking(first, self._threads.submit(taken_in, first, self._targets))

    def failed(self) -> Sequence[RetriableError]:
        """Return why tables could not be made ready, each failure once."""
        untold, self._untold = self._untold, []
        return untold

    def pending(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield pairs of a partition and its first waiting offset, once for each table that the partition waits for."""
        for one in self._tables.values():
            # Offsets of a partition come in order, so its first batch has the first of them.
            firsts: dict[TopicPartition, Batch] = {}
            for batch in one.batches:
                firsts.setdefault(_partition(batch), batch)
            yield from ((partition, _first_offset(batch)) for partition, batch in firsts.items())

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop the waiting records of these partitions. A table that is being made ready for them is still made."""
        for one in self._tables.values():
            one.batches = deque(batch for batch in one.batches if _partition(batch) not in partitions)
        self._held_bytes = sum(_size_bytes(batch) for one in self._tables.values() for batch in one.batches)

    def close(self) -> None:
        """End the threads. The caller has to end requests that wait for an answer before."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _taken(self, one: _Table, taking: _Taking, now_s: float) -> Iterator[Taken]:
        one.taking = None
        if not one.batches or one.batches[0] is not taking.batch:  # the batch was forgotten meanwhile
            return
        try:
            intake = taking.outcome.result()
        except RetriableError as error:
            one.failure, one.failures = error, one.failures + 1
            self._untold.append(error)
            one.retry_at_s = now_s + delay_s(one.failures, initial_s=0.5, max_s=60.0)
            return
        one.failure, one.failures, one.retry_at_s = None, 0, 0.0
        yield Taken(self._first_of(one), intake)
        while one.batches and self._targets.is_ready(one.batches[0]):
            # A table may lack columns for rows beside bad ones. If asking for them fails, the batch waits on.
            intake = taken_in(one.batches[0], self._targets)
            yield Taken(self._first_of(one), intake)

    def _first_of(self, one: _Table) -> Batch:
        batch = one.batches.popleft()
        self._held_bytes -= _size_bytes(batch)
        return batch


def _partition(batch: Batch) -> TopicPartition:
    assert batch.consumed is not None
    return batch.consumed.topic_partition


def _first_offset(batch: Batch) -> int:
    assert batch.consumed is not None
    first: int = batch.consumed.offsets[0].as_py()
    return first


def _size_bytes(batch: Batch) -> int:
    return sum(_column_bytes(column) for column in (batch.values, batch.keys) if column is not None)


def _column_bytes(column: Column) -> int:
    try:
        return int(column.arrow().nbytes)
    except SchemaError:  # rows of no common type, which are judged one by one
        return len(repr(column.rows()))
