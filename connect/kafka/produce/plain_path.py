"""Hands rows to librdkafka one by one with confluent_kafka's `produce`: by public API only, with objects per row."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import repeat

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect.kafka.client.client_log import client_logger
from connect.kafka.produce.added_partitions import UNKNOWN_PARTITION, AddedPartitions, may_be_there
from connect.kafka.produce.receipt import Receipt, Undelivered
from connect.kafka.raw import RawBatch, RawHeaders, sent_time

_LOG = logging.getLogger("connect.kafka.produce.producer")
_ANY_PARTITION = -1


class _Reports:
    """Holds librdkafka's reports. It is a separate object, so that no reference cycle keeps a closed client alive."""

    def __init__(self) -> None:
        self.failure: Undelivered | None = None
        self.fatal: KafkaError | None = None

    def on_delivery(self, receipt: Receipt, error: KafkaError | None, message: Message) -> None:
        if error is None:
            receipt.acknowledge()
        elif self.failure is None:
            size = len(message.value() or b"") + len(message.key() or b"")
            self.failure = Undelivered(error, message.topic() or "", size)

    def on_error(self, error: KafkaError) -> None:
        if error.fatal() and self.fatal is None:
            self.fatal = error


class PlainPath:
    """Sends records one by one, see `ProducerPath`. Each delivery calls back into Python."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._reports = _Reports()
        self._added = AddedPartitions()
        self._producer: Producer | None = Producer(
            {
                **settings,
                "delivery.report.only.error": False,
                "error_cb": self._reports.on_error,
            },
            logger=client_logger("producer"),
        )

    @property
    def _client(self) -> Producer:
        if self._producer is None:
            raise RuntimeError("The producer is closed.")
        return self._producer

    def prepare(self) -> None:
        """Do nothing, as the first rows make the client connect."""

    def enqueue(self, batch: RawBatch, start: int, receipt: Receipt) -> int:
        """Queue rows from `start` on. If one is refused, the rows before it stay queued."""
        rest = batch.slice(start, len(batch))
        produce, topic = self._client.produce, rest.topic
        partition = _ANY_PARTITION if rest.partition is None else rest.partition
        on_delivery = partial(self._reports.on_delivery, receipt)
        queued = 0
        # One call per row: produce_batch takes a dict per row, costs the same and knows neither headers nor timestamps.
        try:
            if rest.headers is None and rest.timestamps_ms is None:
                for value, key in zip(*_bytes(rest), strict=True):
                    receipt.expect()
                    produce(topic, value, key, partition, on_delivery=on_delivery)
                    queued += 1
            else:
                for value, key, timestamp_ms, headers in zip(*_bytes(rest), *_extras(rest), strict=True):
                    receipt.expect()
                    produce(
                        topic, value, key, partition,
                        on_delivery=on_delivery, timestamp=sent_time(timestamp_ms), headers=headers,
                    )  # fmt: skip
                    queued += 1
        except BufferError:
            receipt.acknowledge()  # the row that found no room
            return queued
        except KafkaException as error:
            if error.args[0].code() != UNKNOWN_PARTITION or not self._may_come(topic, partition):
                raise
            receipt.acknowledge()  # the row whose partition was just added
            return queued
        return queued

    def poll(self) -> None:
        """Serve delivery reports."""
        self._serve(0)

    def drain(self, rows: int, timeout_s: float) -> None:
        """Serve delivery reports until at most `rows` rows are outstanding or the time is over."""
        end_s = time.monotonic() + timeout_s
        while len(self._client) > rows and (left_s := end_s - time.monotonic()) > 0:
            self._serve(left_s)

    def failure(self) -> Undelivered | None:
        """Return the first row that was not delivered; None as long as there is none."""
        return self._reports.failure

    def fatal(self) -> KafkaError | None:
        """Return the fatal error that librdkafka reported; None as long as there is none."""
        return self._reports.fatal

    def outstanding(self) -> int:
        """Return the number of rows in librdkafka's queues."""
        return len(self._client)

    def purge(self) -> None:
        """Drop queued rows and those on the way."""
        self._client.purge()
        self._serve(0)

    def init_transactions(self, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._client.init_transactions(timeout_s)

    def begin_transaction(self) -> None:
        """See `ProducerPath`."""
        self._client.begin_transaction()

    def commit_transaction(self, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._client.commit_transaction(timeout_s)

    def abort_transaction(self, timeout_s: float) -> None:
        """See `ProducerPath`. Rows dropped by the abort are no delivery failure."""
        self._client.abort_transaction(timeout_s)
        self._serve(0)
        self._reports.failure = None

    def close(self) -> None:
        """Free the client by dropping the last reference. Its own `close` would not end librdkafka at once."""
        self._producer = None

    def _may_come(self, topic: str, partition: int) -> bool:
        is_told = may_be_there(self._client, topic, partition)
        return self._added.may_come(topic, partition, may_be_there=is_told)

    def _serve(self, timeout_s: float) -> None:
        try:
            self._client.poll(timeout_s)
        except KafkaException as error:  # a fatal error is raised here, but by one poll only
            self._reports.on_error(error.args[0])
            if self._reports.fatal is None:
                raise


def _bytes(batch: RawBatch) -> tuple[Iterable[bytes | None], Iterable[bytes | None]]:
    keys = batch.keys.to_pylist() if batch.keys is not None else repeat(None, len(batch))
    return batch.values.to_pylist(), keys


def _extras(batch: RawBatch) -> tuple[Iterable[int | None], Iterable[list[tuple[str, str | bytes | None]]]]:
    none: RawHeaders = ()
    times = batch.timestamps_ms.to_pylist() if batch.timestamps_ms is not None else repeat(None, len(batch))
    headers = batch.headers if batch.headers is not None else repeat(none, len(batch))
    return times, ([(name, value) for name, value in row] for row in headers)
