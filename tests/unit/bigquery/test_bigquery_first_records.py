"""Checks records that wait until the table which they are for is ready."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from e2e_worker import wait_for

from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.bigquery.write.first_records import FirstRecords


class Tables:
    """Tables that nobody has to make, and that are ready as soon as a batch was prepared for one."""

    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.fails_at: set[int] = set()
        """Offsets of records for which BigQuery is asked in spite of a ready table, and cannot be reached once."""

    def target(self, batch: Batch) -> str:
        return batch.topic

    def is_ready(self, batch: Batch) -> bool:
        return batch.topic in self.ready

    def leaves_out(self, batch: Batch) -> bool:
        assert batch.consumed is not None
        offset = batch.consumed.offsets[0].as_py()
        if offset in self.fails_at:
            self.fails_at.remove(offset)
            raise RetriableError("BigQuery cannot be reached")
        self.ready.add(batch.topic)
        return True


@pytest.fixture
def tables() -> Tables:
    return Tables()


@pytest.fixture
def first_records(tables) -> Any:
    records = FirstRecords(tables, 2, "table")
    yield records
    records.close()


def batch_of(topic: str, offset: int) -> Batch:
    consumed = Consumed(TopicPartition(topic, 0), pa.array([offset]), offset + 1)
    values = Column.from_rows([{"id": offset}], None)
    return Batch(topic, values, timestamps_ms=pa.array([0]), partition=0, consumed=consumed)


def test_bytes_are_held_until_the_records_are_taken(first_records):
    batches = [batch_of("orders", offset) for offset in range(3)]
    assert all(first_records.holds(batch) for batch in batches)
    assert first_records.held_bytes > 0
    taken: list[Batch] = []

    def are_taken() -> bool:
        taken.extend(one.batch for one in first_records.advance(0.0))
        return taken == batches

    wait_for(are_taken, 10, "the records of a table that is ready")
    assert first_records.held_bytes == 0


def test_bytes_of_forgotten_records_are_no_longer_held(first_records):
    first_records.holds(batch_of("orders", 0))
    of_orders = first_records.held_bytes
    first_records.holds(batch_of("items", 0))
    assert first_records.held_bytes == 2 * of_orders
    first_records.forget([TopicPartition("items", 0)])
    assert first_records.held_bytes == of_orders


def test_records_wait_on_if_their_table_lacks_something_and_bigquery_is_away(first_records, tables):
    """Bad rows hide what the rows beside them need of a table that is ready: it is asked for when rows are made."""
    tables.fails_at = {1}
    batches = [batch_of("orders", offset) for offset in range(3)]
    assert all(first_records.holds(batch) for batch in batches)
    taken: list[Batch] = []

    def is_away() -> bool:
        try:
            taken.extend(one.batch for one in first_records.advance(0.0))
        except RetriableError:
            return True
        return False

    wait_for(is_away, 10, "a request that BigQuery does not answer")
    assert list(first_records.pending()) == [(TopicPartition("orders", 0), 1)]

    def are_taken() -> bool:
        taken.extend(one.batch for one in first_records.advance(0.0))
        return taken[-1] is batches[2]

    wait_for(are_taken, 10, "the records behind a failure")
    assert [one.consumed.offsets[0].as_py() for one in taken][-2:] == [1, 2]
