"""Single records into an internal topic, each with a future; or many in one transaction. For data see `producer`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.kafka.client_log import client_logger
from connect.kafka.errors import AbortableError, FatalProducerError, FencedError, translate
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch

Settings = Mapping[str, str | int | float | bool]
KeyValue = tuple[bytes, bytes | None]

_LOG = logging.getLogger("connect.kafka.kv_log")
_POLL_S: Final = 0.1
_MEET_S: Final = 0.2
_TRANSACTION_S: Final = 30.0


class RecordWriter:
    """Puts records one by one; thread-safe. A thread of its own serves the delivery reports that end the futures."""

    def __init__(self, topic: str, settings: Settings) -> None:
        self._topic = topic
        # A status or an offset waits for no company.
        self._settings = {**settings, "linger.ms": 1, "delivery.report.only.error": False, "error_cb": self._on_error}
        self._settings.pop("producer.path", None)
        self._lock = threading.Lock()  # put comes from any thread, and a dead producer must be replaced only once
        self._fatal: KafkaError | None = None
        self._producer = self._made()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"kv-writer-{topic}", daemon=True)
        self._thread.start()

    def put(self, key: bytes, value: bytes | None) -> Future[None]:
        """Write one record; the future ends when every in-sync replica has it."""
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(translate(error, f"writing to topic {self._topic}"))

        try:
            self._live().produce(self._topic, value, key, on_delivery=delivered)
        except KafkaException as error:
            done.set_exception(translate(error.args[0], f"writing to topic {self._topic}"))
        except BufferError:
            queue_full = KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001 - librdkafka's own code
            done.set_exception(translate(queue_full, f"writing to topic {self._topic}"))
        return done

    def close(self, timeout_s: float) -> None:
        """Wait for acknowledgements at most `timeout_s`, then fail the futures that are left."""
        self._producer.flush(timeout_s)
        self._producer.purge()
        self._producer.flush(_POLL_S)
        self._stop.set()
        self._thread.join(timeout_s + 1.0)

    def _live(self) -> Producer:
        with self._lock:
            if self._fatal is not None:
                _LOG.warning("Making a new producer for topic %s: %s", self._topic, self._fatal.str())
                self._producer.purge()  # fails the futures of what it held
                self._producer.flush(_POLL_S)
                self._producer, self._fatal = self._made(), None
            return self._producer

    def _made(self) -> Producer:
        return Producer(self._settings, logger=client_logger("kv_log"))

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = error

    def _serve(self) -> None:
        # As `NativeProducer.prepare`: the first record must not wait half a second for the producer's id.
        for _ in range(2):
            with suppress(KafkaException):
                self._producer.list_topics(self._topic, timeout=_MEET_S)
        while not self._stop.is_set():
            self._producer.poll(_POLL_S)


class TransactionWriter:
    """Puts several records in one transaction, one after the other on a thread of its own.

    The transactional id is the owner's claim: whoever claims it last may write, all others get FencedError.
    """

    def __init__(self, topic: str, settings: Settings) -> None:
        self._topic = topic
        self._settings = settings
        self._producer: BatchProducer | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"kv-transactions-{topic}")

    def claim(self, deadline: Deadline) -> None:
        """Fence every other writer with this transactional id. RetriableError: the brokers did not answer in time."""
        self._thread.submit(self._claim, deadline).result()

    def put_all(self, records: Sequence[KeyValue]) -> Future[None]:
        """Write all or nothing. FencedError: another one has claimed the topic; claim again to write again."""
        return self._thread.submit(self._write, list(records))

    def close(self) -> None:
        """Let go of the claim."""
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
