"""Puts single records into an internal topic, each with a future, or many in one transaction.

Rows of connectors are written by `connect.kafka.produce`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.client.errors import (
    GIVEN_UP,
    PARTITION_GONE,
    AbortableError,
    FatalProducerError,
    FencedError,
    MissingPartitionError,
    translate,
)
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.produce.shared_producer import SharedProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]
KeyValue = tuple[bytes, bytes | None]

_LOG = logging.getLogger("connect.kafka.log.kv_log")
_TRANSACTION_S: Final = 12.0
"""A transaction is given up after this time: before brokers do so, to which the producer's next one would be fenced."""


class RecordWriter:
    """Puts records into a topic one by one. It is thread-safe; the futures end on the producer's thread."""

    def __init__(self, topic: str, producer: Settings | SharedProducer) -> None:
        """Take a topic. `producer` holds a producer's settings, or is a shared producer, which `close` leaves open."""
        self._topic = topic
        self._owns = not isinstance(producer, SharedProducer)
        self._producer = producer if isinstance(producer, SharedProducer) else SharedProducer(producer)
        self._needs = self._producer.needs._replace(topics=[topic])

    def put(self, key: bytes, value: bytes | None, written: Callable[[int, int], None] | None = None) -> Future[None]:
        """Write one record; the future ends when every in-sync replica has it.

        `written` is called just before, on the producer's thread, with partition and offset; below 0 they are unknown.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                if written is not None:
                    offset = message.offset()
                    written(message.partition() or 0, OFFSET_INVALID if offset is None else offset)
                done.set_result(None)
            else:
                done.set_exception(self._undelivered(error))

        try:
            self._producer.produce(self._topic, value, key, delivered)
        except KafkaException as error:
            done.set_exception(translate(error.args[0], f"writing to topic {self._topic}", self._needs))
        except BufferError:
            queue_full = KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001 - librdkafka's own code
            done.set_exception(translate(queue_full, f"writing to topic {self._topic}", self._needs))
        return done

    def _undelivered(self, error: KafkaError) -> ConnectError:
        doing = f"writing to topic {self._topic}"
        if error.code() in GIVEN_UP:
            return RetriableError(f"A record for topic {self._topic} was given up with its client.")
        if error.code() == PARTITION_GONE:
            return MissingPartitionError(f"Failed {doing}: its partition was deleted before the record was sent.")
        return translate(error, doing, self._needs)

    def give_up(self, reason: str) -> None:
        """Fail all records on the way, so that none of them is sent later: also those of others, if they share it."""
        self._producer.give_up(reason)

    def close(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` seconds for acknowledgements, then fail the futures that are left."""
        if self._owns:
            self._producer.close(timeout_s)


class TransactionWriter:
    """Puts several records into a topic in one transaction; its thread runs one transaction after the other.

    Whoever has claimed the transactional id last may write. All others get FencedError.
    """

    def __init__(self, topic: str, settings: Settings) -> None:
        self._topic = topic
        self._settings = settings
        self._producer: BatchProducer | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"kv-transactions-{topic}")

    def claim(self, deadline: Deadline) -> None:
        """Fence all other writers of this transactional id. Raise RetriableError if brokers did not answer in time."""
        self._thread.submit(self._claim, deadline).result()

    def put_all(self, records: Sequence[KeyValue]) -> Future[None]:
        """Write all records or none. The future fails with FencedError if another writer has claimed the id since."""
        return self._thread.submit(self._write, list(records))

    def close(self) -> None:
        """Close the producer."""
        self._thread.submit(self._drop)
        self._thread.shutdown(wait=True)

    def _claim(self, deadline: Deadline) -> None:
        self._drop()
        producer = BatchProducer(self._settings)
        try:
            producer.init_transactions(deadline)
        except ConnectError:
            producer.close()
            raise
        self._producer = producer

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _write(self, records: Sequence[KeyValue]) -> None:
        import pyarrow as pa

        if self._producer is None:
            raise FencedError(f"Topic {self._topic} is not claimed by this worker.")
        keys, values = zip(*records, strict=True)
        batch = RawBatch(self._topic, pa.array(values, pa.binary()), pa.array(keys, pa.binary()))
        deadline = Deadline.after(_TRANSACTION_S)
        try:
            self._producer.begin()
            self._producer.send(batch, deadline)
            self._producer.commit(deadline)
        except (FencedError, FatalProducerError):
            self._drop()
            raise
        except (AbortableError, ConnectError):
            self._abort()
            raise

    def _abort(self) -> None:
        assert self._producer is not None
        try:
            self._producer.abort(Deadline.after(_TRANSACTION_S))
        except ConnectError as error:
            _LOG.warning("A transaction on topic %s could not be aborted: %s", self._topic, error)
            self._drop()
