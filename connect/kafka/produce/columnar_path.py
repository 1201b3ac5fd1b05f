"""Hands Arrow columns to librdkafka without a Python object per row.

Native code hands over pointers to the rows (`connect.native.RowSender`). Without it, and for rows with timestamps or
headers of their own, arrays of its arguments are filled by Arrow (`arguments.py`), and librdkafka copies every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError

from connect.kafka.client.librdkafka import error, library, raise_error
from connect.kafka.produce.added_partitions import UNKNOWN_PARTITION, AddedPartitions, may_be_there_for
from connect.kafka.produce.arguments import COPY, RowArguments, address_of, errors_of, messages_of, readable
from connect.kafka.produce.native_producer import NativeProducer
from connect.kafka.produce.receipt import Receipt, Undelivered
from connect.kafka.raw import RawBatch, SharedHeaders

if TYPE_CHECKING:
    from connect.native import RowSender

_ANY_PARTITION: Final = -1
_CHUNK: Final = 16_384
"""One call hands over at most so many rows; their message array has 1.2 MB."""


class ColumnarPath:
    """Sends columns by native code, see `ProducerPath`."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._lib = library()
        self._native = NativeProducer(settings)
        self._added = AddedPartitions()

    def enqueue(self, batch: RawBatch, start: int, receipt: Receipt) -> int:
        """Queue rows from `start` on."""
        plain = batch.headers is None and batch.timestamps_ms is None
        alike = isinstance(batch.headers, SharedHeaders) and batch.timestamps_ms is None
        if self._native.rows is not None and (plain or alike):
            return self._enqueue_native(self._native.rows, batch, start, receipt)
        call = self._enqueue_plain if plain else self._enqueue_full
        done = start
        while done < len(batch):
            chunk = batch.slice(done, done + _CHUNK)
            receipt.expect()
            queued = self._native.copied.queue(len(chunk), partial(call, chunk), receipt.acknowledge)
            done += queued
            if queued < len(chunk):
                break
        return done - start

    def prepare(self) -> None:
        """See `ProducerPath`."""
        self._native.prepare()

    def poll(self) -> None:
        """See `ProducerPath`."""
        while self._native.serve():
            pass
        if self._native.rows is not None:
            self._native.rows.settle()

    def drain(self, rows: int, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._native.drain(rows, timeout_s)

    def failure(self) -> Undelivered | None:
        """Return the first row that was not delivered; None as long as there is none."""
        return self._native.failure

    def fatal(self) -> KafkaError | None:
        """Return the fatal error that librdkafka reported; None as long as there is none."""
        return self._native.fatal()

    def outstanding(self) -> int:
        """Return the number of rows in librdkafka's queues."""
        return self._native.outstanding()

    def purge(self) -> None:
        """Drop queued rows and those on the way."""
        self._native.purge()

    def init_transactions(self, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._native.init_transactions(timeout_s)

    def begin_transaction(self) -> None:
        """See `ProducerPath`."""
        self._native.begin_transaction()

    def commit_transaction(self, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._native.commit_transaction(timeout_s)

    def abort_transaction(self, timeout_s: float) -> None:
        """See `ProducerPath`. librdkafka's abort waits until what it dropped was served, but serves none itself."""
        self._native.purge(queued_only=True)
        self._native.drain(0, timeout_s / 2)
        self._native.abort_transaction(timeout_s)
        self.poll()
        self._native.failure = None

    def close(self) -> None:
        """Free the client."""
        self._native.close()

    def _enqueue_native(self, rows: RowSender, batch: RawBatch, start: int, receipt: Receipt) -> int:
        batch = readable(batch)
        partition = _ANY_PARTITION if batch.partition is None else batch.partition
        topic = self._native.topic(batch.topic)
        headers = batch.headers.headers if isinstance(batch.headers, SharedHeaders) else None
        receipt.expect()
        taken, refusal = rows.send(
            topic, partition, batch.values, batch.keys, headers, start=start, on_acknowledged=receipt.acknowledge
        )
        if refusal:
            self._raise_unless_later(refusal, batch, taken)
            if refusal == UNKNOWN_PARTITION:
                receipt.acknowledge()  # no row of this part is on its way
        return taken

    def _enqueue_plain(self, batch: RawBatch, opaque: int) -> int:
        batch = readable(batch)
        messages = messages_of(batch, opaque)
        partition = _ANY_PARTITION if batch.partition is None else batch.partition
        topic = self._native.topic(batch.topic)
        taken = self._lib.rd_kafka_produce_batch(topic, partition, COPY, address_of(messages), len(batch))
        if taken == len(batch):
            return len(batch)
        first, code = next((row, code) for row, code in enumerate(errors_of(messages)) if code)
        self._raise_unless_later(code, batch, first)
        return first  # Every row behind the first one is refused, too.

    def _enqueue_full(self, batch: RawBatch, opaque: int) -> int:
        """Queue rows with timestamps or headers, which batches of messages cannot carry: one call per row."""
        taken = self._produce_rows(batch, opaque)
        if self._native.rows is not None and taken:
            self._native.rows.queued(batch.slice(0, taken).size_bytes)
        return taken

    def _produce_rows(self, batch: RawBatch, opaque: int) -> int:
        produce, client = self._lib.rd_kafka_produceva, self._native.handle
        partition = _ANY_PARTITION if batch.partition is None else batch.partition
        batch = readable(batch)
        arguments = RowArguments(batch, self._native.topic(batch.topic), partition, opaque)
        for row, (address, count) in enumerate(arguments):
            failed = produce(client, address, count)
            if failed:
                if not self._is_for_later(self._lib.rd_kafka_error_code(failed), batch, row):
                    raise_error(failed)
                self._lib.rd_kafka_error_destroy(failed)
                return row
        return len(batch)

    def _raise_unless_later(self, code: int, batch: RawBatch, taken: int) -> None:
        if not self._is_for_later(code, batch, taken):
            raise error(code)

    def _is_for_later(self, code: int, batch: RawBatch, taken: int) -> bool:
        """Return True if refused rows can be queued again: the queue is full, or the partition was just added.

        `taken` rows of the batch were queued before. With some the partition was there a moment ago, and is gone.
        """
        if code == UNKNOWN_PARTITION and batch.partition is not None and not taken:
            is_told = may_be_there_for(self._native.handle, self._native.topic(batch.topic), batch.partition)
            return self._added.may_come(batch.topic, batch.partition, may_be_there=is_told)
        return code == KafkaError._QUEUE_FULL  # noqa: SLF001 - librdkafka's own code
