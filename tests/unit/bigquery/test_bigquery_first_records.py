"""Checks records that wait until the table which they are for is ready."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from e2e_worker import wait_for

from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.bigquery.write.first_records import FirstRecords


class Tables:
    """Tables that nobody has to make, and that are ready as soon as a batch was prepared for one."""

    def __init__(self) -> None:
        self.ready: set[str] = set()

    def target(self, batch: Batch) -> str:
        return batch.topic

    def is_ready(self, batch: Batch) -> bool:
        return batch.topic in self.ready

    def leaves_out(self, batch: Batch) -> bool:
        self.ready.add(batch.topic)
        return True


@pytest.fixture
def first_records() -> Any:
    records = FirstRecords(Tables(), 2, "table")  # type: ignore[arg-type]  # it has the methods that are called alone
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
