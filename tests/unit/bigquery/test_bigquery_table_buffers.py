"""Checks a table's rows on their way: when a batch is sealed, what is claimed meanwhile, what a failure does."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connectors.bigquery.dedup.sealed_batch import OffsetRange, Piece, SealedBatch
from connectors.bigquery.dedup.staged_rows import Admitted
from connectors.bigquery.write.table_buffers import Rotation, TableBuffer, first_pending

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Threads:
    """An executor whose work ends when the test says so."""

    def __init__(self) -> None:
        self.work: list[tuple[Future[None], SealedBatch]] = []

    def submit(self, land: Any, batch: SealedBatch) -> Future[None]:
        self.work.append((Future(), batch))
        return self.work[-1][0]


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config())


def buffer_of(table: SqlTable, *, rows: int = 10, interval_s: float = 60.0) -> TableBuffer:
    return TableBuffer("orders", table.columns, table.dedup, Rotation(rows, 10**9, interval_s))


def take(buffer: TableBuffer, table: SqlTable, *messages: Message, now_s: float = 0.0) -> None:
    batch = batch_of(messages)
    assert batch.consumed is not None
    buffer.take(batch.consumed.topic_partition, table.admission.admit(batch), now_s)


def advance(buffer: TableBuffer, threads: Threads, now_s: float) -> RetriableError | None:
    return buffer.advance(lambda batch: None, threads, now_s)  # type: ignore[arg-type]  # a stand-in


def test_a_batch_is_sealed_after_its_time_or_its_rows(table):
    buffer, threads = buffer_of(table, rows=3), Threads()
    take(buffer, table, Message(0, 0, 1, 0), Message(0, 1, 2, 0), now_s=5.0)
    assert buffer.due_in_s(20.0) == 45.0
    advance(buffer, threads, 64.0)
    assert threads.work == []
    advance(buffer, threads, 65.0)
    assert [len(batch) for _, batch in threads.work] == [2]
    take(buffer, table, *(Message(0, offset, 1, 0) for offset in (2, 3, 4)), now_s=66.0)
    assert buffer.due_in_s(66.0) == 0.0
    advance(buffer, threads, 66.0)
    assert len(threads.work) == 1, "one batch of a table at a time"


def test_nothing_is_claimed_that_is_gathered_or_on_its_way(table):
    buffer, threads = buffer_of(table, rows=2), Threads()
    take(buffer, table, Message(0, 4, 1, 0), Message(0, 7, 2, 0))
    take(buffer, table, Message(1, 9, 2, 0))
    assert first_pending([buffer]) == {ZERO: 4, ONE: 9}
    advance(buffer, threads, 0.0)
    take(buffer, table, Message(0, 8, 1, 0))
    assert first_pending([buffer]) == {ZERO: 4, ONE: 9}
    threads.work[0][0].set_result(None)
    advance(buffer, threads, 0.0)
    assert first_pending([buffer]) == {ZERO: 8}


def test_a_batch_that_fails_for_now_is_landed_again_as_it_was(table):
    buffer, threads = buffer_of(table, rows=1), Threads()
    take(buffer, table, Message(0, 0, 1, 0))
    advance(buffer, threads, 0.0)
    threads.work[0][0].set_exception(RetriableError("later"))
    assert isinstance(advance(buffer, threads, 0.0), RetriableError)
    assert len(threads.work) == 1, "not before a wait"
    advance(buffer, threads, 5.0)
    assert threads.work[1][1] is threads.work[0][1]
    assert first_pending([buffer]) == {ZERO: 0}


def test_any_other_failure_is_raised(table):
    buffer, threads = buffer_of(table, rows=1), Threads()
    take(buffer, table, Message(0, 0, 1, 0))
    advance(buffer, threads, 0.0)
    threads.work[0][0].set_exception(ConnectError("for good"))
    with pytest.raises(ConnectError, match="for good"):
        advance(buffer, threads, 0.0)


class Sized:
    """Rows that count how often somebody asks for their size."""

    def __init__(self) -> None:
        self.asked = 0

    def __len__(self) -> int:
        return 1

    @property
    def nbytes(self) -> int:
        self.asked += 1
        return 100


def test_the_size_of_what_is_gathered_is_counted_as_it_comes(table):
    buffer, rows = buffer_of(table, rows=10**6), [Sized() for _ in range(50)]
    for offset, one in enumerate(rows):
        buffer.take(ZERO, Admitted(one, pa.array([offset], pa.int64()), {}), 0.0)  # type: ignore[arg-type]
        assert (buffer.due_in_s(0.0), buffer.held_bytes) == (60.0, 100 * (offset + 1))
    assert {one.asked for one in rows} == {1}
    buffer.seal()
    assert (buffer.held_bytes, buffer.due_in_s(0.0)) == (5000, None)


def test_rows_of_a_revoked_partition_are_forgotten(table):
    buffer = buffer_of(table)
    take(buffer, table, Message(0, 0, 1, 0))
    take(buffer, table, Message(1, 0, 1, 0))
    buffer.forget([ZERO])
    assert first_pending([buffer]) == {ONE: 0}


def test_a_flush_looks_at_no_offset_of_what_was_gathered_before(table, monkeypatch):
    buffer, read = buffer_of(table, rows=10**6), []

    def note_look(piece):
        read.append(piece)
        return OffsetRange(piece.offsets[0].as_py(), piece.offsets[-1].as_py())

    monkeypatch.setattr(Piece, "range", property(note_look))
    for offset in range(50):
        take(buffer, table, Message(0, offset, offset, 0))
    for _ in range(3):
        assert first_pending([buffer]) == {ZERO: 0}
    buffer.seal()
    take(buffer, table, Message(0, 50, 1, 0))
    assert first_pending([buffer]) == {ZERO: 0}
    assert len(read) == 51
