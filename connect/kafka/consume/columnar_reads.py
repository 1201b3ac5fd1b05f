"""Reads records out of librdkafka straight into Arrow columns, by native code: no Python object per record.

Records get a queue of their own: before a partition is assigned, its queue is forwarded to this one. The client's queue
keeps rebalances and all other callbacks, which confluent_kafka must serve itself, as they need its state of the thread.
On any queue librdkafka drops records that a seek, a pause or a rebalance has made stale, and it keeps the positions.
"""

from __future__ import annotations

from collections.abc import Collection
from ctypes import c_void_p
from typing import Final

from confluent_kafka import Consumer, KafkaError

from connect import native
from connect.api.records import TopicPartition
from connect.kafka.client.librdkafka import error, library, library_path
from connect.kafka.consume.arrivals import Arrivals
from connect.kafka.consume.columns import PolledBatches, ReadError, polled_batches
from connect.kafka.raw import RawBatch

_MOST_EVENTS: Final = 100


class ColumnarReads:
    """Reads records as columns, see `Reads`. Needs `native.module()`."""

    most_wait_s: Final = 3.0
    """Is longer than the polls of idle sinks: with hundreds of them, to wake up is most of what a host does."""

    def __init__(self, consumer: Consumer, client: c_void_p) -> None:
        """Take the consumer and, as `client`, its rd_kafka_t."""
        self._consumer = consumer
        self._client = client
        self._lib = library()
        native.bind_librdkafka(library_path())
        self._arrivals = Arrivals()
        self._queue: int | None = self._lib.rd_kafka_queue_new(client)
        self._events = self._lib.rd_kafka_queue_get_consumer(client)
        for queue in (self._queue, self._events):
            self._arrivals.watch(queue)
        self._assigned: set[TopicPartition] = set()

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forward these partitions' records to our queue."""
        if self._queue is None:
            return  # While the consumer closes nobody reads them any more.
        for topic, partition in partitions:
            own = self._lib.rd_kafka_queue_get_partition(self._client, topic.encode(), partition)
            self._lib.rd_kafka_queue_forward(own, self._queue)
            self._lib.rd_kafka_queue_destroy(own)
        self._assigned.update(partitions)

    def unassigned(self, partitions: Collection[TopicPartition]) -> None:
        """Take note that librdkafka has stopped fetching them. They are forwarded again if they come back."""
        self._assigned.difference_update(partitions)

    def take(self, most: int, wait_s: float, fill_s: float) -> PolledBatches:
        """See `Reads`. A rebalance, an error and `wake` end the wait."""
        if self._queue is None:
            return self.serve(wait_s)
        taken = self._take(self._queue, most, fill_s)
        if any(taken) or wait_s <= 0 or not self._arrivals.wait(wait_s):
            return taken
        return self._take(self._queue, most, fill_s)

    def _take(self, queue: int, most: int, fill_s: float) -> PolledBatches:
        served = self.serve(0.0)
        if not self._assigned or served.errors:
            return served
        taken = native.consume(queue, most, wait_s=0.0, fill_s=fill_s)
        batches = [
            RawBatch(
                topic=read.topic,
                values=read.values,
                keys=read.keys,
                headers=read.headers,
                timestamps_ms=read.timestamps_ms,
                partition=read.partition,
                offsets=read.offsets,
                next_offset=read.next_offset,
            )
            for read in taken.batches
        ]
        errors = [_error(*failed) for failed in taken.errors]
        ends = {TopicPartition(topic, partition): end for topic, partition, end in taken.ends}
        return PolledBatches([*served.batches, *batches], errors, {**served.ends, **ends})

    def serve(self, timeout_s: float) -> PolledBatches:
        """See `Reads`. An error and the rebalance that follows from it are served together."""
        messages = self._consumer.consume(_MOST_EVENTS, 0)
        if not messages and timeout_s > 0:
            messages = self._consumer.consume(1, timeout_s)
        return polled_batches(list(messages))

    def wake(self) -> None:
        """See `Reads`."""
        self._arrivals.wake()

    def close(self) -> None:
        """Free the queues."""
        self._arrivals.close()
        if self._queue is not None:
            self._lib.rd_kafka_queue_destroy(self._queue)
            self._lib.rd_kafka_queue_destroy(self._events)
        self._queue = None
        self._assigned.clear()


def _error(code: int, reason: str, topic: str | None, partition: int, offset: int) -> ReadError:
    made: KafkaError = error(code, reason=reason).args[0]
    return ReadError(made, None if topic is None or partition < 0 else TopicPartition(topic, partition), offset)
