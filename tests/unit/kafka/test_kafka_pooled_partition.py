"""A row for a partition that was added meanwhile is awaited once, so that its receipt is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import ConnectError
from connect.kafka.client.settings import ClientSettings
from connect.kafka.produce.pooled_producer import PooledProducer, ProducerPool
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline


class Sent(NamedTuple):
    """A message as a delivery report has it."""

    of_value: bytes

    def __len__(self) -> int:
        return len(self.of_value)


class Shared(ProducerPool):
    """The pool and its one client, which refuses rows so many times before it knows their partition."""

    def __init__(self, refusals: int, *, learns: bool) -> None:
        super().__init__()
        self.refusals, self.learns = refusals, learns
        self.sent: list[bytes] = []

    def take(self, settings: ClientSettings) -> Shared:
        return self

    def produce(
        self, topic: str, value: bytes, key: bytes | None, on_delivery: Callable[..., None], **rest: object
    ) -> None:
        if self.refusals:
            self.refusals -= 1
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
        self.sent.append(value)
        on_delivery(None, Sent(value))

    def learns_of(self, topic: str, partition: int) -> bool:
        return self.learns


def _batch() -> RawBatch:
    return RawBatch("t", pa.array([b"a", b"b"], pa.binary()), partition=1)


def test_a_row_for_a_new_partition_is_awaited_once():
    shared, receipt = Shared(2, learns=True), Receipt()
    producer = PooledProducer(shared, {}, {})
    producer.send(_batch(), Deadline.after(10), receipt)
    producer.flush(Deadline.after(1))
    assert (shared.sent, receipt.is_settled) == ([b"a", b"b"], True)


def test_a_row_for_a_partition_that_is_not_there_fails():
    receipt = Receipt()
    producer = PooledProducer(Shared(1, learns=False), {}, {})
    with pytest.raises(ConnectError, match="Unknown partition"):
        producer.send(_batch(), Deadline.after(10), receipt)
    assert not receipt.is_settled
