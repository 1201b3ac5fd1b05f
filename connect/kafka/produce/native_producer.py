"""Makes a librdkafka producer of our own, which calls no Python per record and reports failed records only."""

from __future__ import annotations

import ctypes
import logging
import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError

from connect import native
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.librdkafka import (
    EVENT_DELIVERY,
    EVENT_ERROR,
    EVENT_LOG,
    Message,
    error,
    library,
    library_path,
    meet_brokers,
    raise_error,
)
from connect.kafka.produce.receipt import Undelivered
from connect.kafka.produce.reported_rows import ReportedRows

_PRODUCER: Final = 0
_PURGE_QUEUE: Final = 0x1
_PURGE_ALL: Final = 0x3
_TEXT_BYTES: Final = 512
_TICK_MS: Final = 5
"""The number of acknowledged rows is asked for so many milliseconds apart, as they make no event."""
_LIBRARY_LINGER_MS: Final = 5000.0
"""librdkafka's linger.ms is this where native code decides when to send. If that fails, rows are sent by then."""
_LIBRARY_DEFAULT_LINGER_MS: Final = 5.0
_BATCH_BYTES: Final = 1_000_000
"""librdkafka's batch.size has this default."""
_LEVELS: Final = (
    logging.CRITICAL, logging.CRITICAL, logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.INFO,
    logging.DEBUG,
)  # fmt: skip
"""Holds Python's log level for each level of syslog."""


class NativeProducer:
    """Sends rows by librdkafka itself. Owned by one thread. Every call after `close` is an error."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._lib = library()
        self.rows: native.RowSender | None = None
        """Queues rows without a copy; None where native code is not installed."""
        self.copied: native.RowSender | ReportedRows
        """Counts the rows that librdkafka copies."""
        self._client = self._made(settings)
        self._queue = self._lib.rd_kafka_queue_get_main(self._client)
        self._lib.rd_kafka_set_log_queue(self._client, self._queue)
        self._log = client_logger("producer")
        self._topics: dict[str, int] = {}
        self.failure: Undelivered | None = None
        """Holds the first row that was not delivered."""

    @property
    def handle(self) -> int:
        """Return the rd_kafka_t."""
        return self._client

    def topic(self, name: str) -> int:
        """Return the topic's rd_kafka_topic_t, which is valid until `close`."""
        found = self._topics.get(name)
        if found is None:
            found = self._lib.rd_kafka_topic_new(self._client, name.encode(), None)
            if not found:
                raise error(self._lib.rd_kafka_last_error())
            self._topics[name] = found
        return found

    def prepare(self) -> None:
        """See `meet_brokers`."""
        meet_brokers(self._client)

    def fatal(self) -> KafkaError | None:
        """Return the error that ended this producer for good; None as long as there is none."""
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        code = self._lib.rd_kafka_fatal_error(self._client, text, _TEXT_BYTES)
        if not code:
            return None
        cause: KafkaError = error(code, reason=text.value.decode(errors="replace"), fatal=True).args[0]
        return cause

    def outstanding(self) -> int:
        """Return the number of rows that are queued or on the way, plus that of events that were not served."""
        return int(self._lib.rd_kafka_outq_len(self._client))

    def serve(self, timeout_ms: int = 0) -> bool:
        """Take one event. Return False if there was none in time."""
        event = self._lib.rd_kafka_queue_poll(self._queue, timeout_ms)
        if not event:
            return False
        try:
            kind = self._lib.rd_kafka_event_type(event)
            if kind == EVENT_DELIVERY:
                self._note_reports(event)
            elif kind == EVENT_LOG:
                self._note_log(event)
        finally:
            self._lib.rd_kafka_event_destroy(event)
        return True

    def drain(self, rows: int, timeout_s: float) -> None:
        """Serve events until at most `rows` rows are outstanding or the time is over."""
        if rows == 0 and self.rows is not None:
            self.rows.hurry()
        end_s = time.monotonic() + timeout_s
        while self.outstanding() > rows and time.monotonic() < end_s:
            self.serve(_TICK_MS)

    def purge(self, *, queued_only: bool = False) -> None:
        """Drop rows that are queued, and those on the way."""
        self._lib.rd_kafka_purge(self._client, _PURGE_QUEUE if queued_only else _PURGE_ALL)
        while self.serve():
            pass

    def init_transactions(self, timeout_s: float) -> None:
        """See rdkafka.h. Raise KafkaException, which tells if to retry or to abort."""
        raise_error(self._lib.rd_kafka_init_transactions(self._client, int(timeout_s * 1000)))

    def begin_transaction(self) -> None:
        """See rdkafka.h."""
        raise_error(self._lib.rd_kafka_begin_transaction(self._client))

    def commit_transaction(self, timeout_s: float) -> None:
        """See rdkafka.h. All rows must be delivered before, as librdkafka's own flush serves no events."""
        raise_error(self._lib.rd_kafka_commit_transaction(self._client, int(timeout_s * 1000)))

    def abort_transaction(self, timeout_s: float) -> None:
        """See rdkafka.h."""
        raise_error(self._lib.rd_kafka_abort_transaction(self._client, int(timeout_s * 1000)))

    def close(self) -> None:
        """Free everything. Rows that are not acknowledged yet are lost."""
        if self.rows is not None:
            self.rows.stop()
        for topic in self._topics.values():
            self._lib.rd_kafka_topic_destroy(topic)
        self._topics.clear()
        self._lib.rd_kafka_queue_destroy(self._queue)
        self._lib.rd_kafka_destroy(self._client)
        if self.rows is not None:
            self.rows.close()

    def _made(self, settings: Mapping[str, str | int | float | bool]) -> int:
        conf = self._lib.rd_kafka_conf_new()
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        own = {**settings, "log.queue": True, "delivery.report.only.error": native.module() is not None}
        linger_ms = float(settings.get("linger.ms", _LIBRARY_DEFAULT_LINGER_MS))
        if native.module() is not None:
            native.bind_librdkafka(library_path())
            self.rows = native.RowSender(conf)
            own["linger.ms"] = _library_linger_ms(settings, linger_ms)
        self.copied = self.rows or ReportedRows()
        for key, value in own.items():
            if self._lib.rd_kafka_conf_set(conf, key.encode(), _text(value).encode(), text, _TEXT_BYTES):
                self._lib.rd_kafka_conf_destroy(conf)
                raise error(KafkaError._INVALID_ARG, reason=text.value.decode(errors="replace"))  # noqa: SLF001 - librdkafka's own codes begin so
        self._lib.rd_kafka_conf_set_events(conf, EVENT_DELIVERY | EVENT_ERROR | EVENT_LOG)
        client = self._lib.rd_kafka_new(_PRODUCER, conf, text, _TEXT_BYTES)
        if not client:
            self._lib.rd_kafka_conf_destroy(conf)
            raise error(KafkaError._INVALID_ARG, reason=text.value.decode(errors="replace"))  # noqa: SLF001 - librdkafka's own codes begin so
        if self.rows is not None:
            batch_bytes = int(settings.get("batch.size", _BATCH_BYTES))
            self.rows.start(int(client), linger_ms=linger_ms, batch_bytes=batch_bytes)
        return int(client)

    def _note_reports(self, event: int) -> None:
        while message := self._lib.rd_kafka_event_message_next(event):
            row = message.contents
            if row.err:
                self._note_failure(row)
            elif isinstance(self.copied, ReportedRows):
                self.copied.acknowledged(row.private)

    def _note_failure(self, row: Message) -> None:
        if self.failure is None:
            topic = self._lib.rd_kafka_topic_name(row.rkt).decode()
            cause: KafkaError = error(row.err).args[0]
            self.failure = Undelivered(cause, topic, row.len + row.key_len)

    def _note_log(self, event: int) -> None:
        facility, line, level = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_int()
        found = self._lib.rd_kafka_event_log(event, ctypes.byref(facility), ctypes.byref(line), ctypes.byref(level))
        if found == 0:
            texts = [(part.value or b"").decode(errors="replace") for part in (facility, line)]
            self._log.log(_LEVELS[min(level.value, len(_LEVELS) - 1)], "%s %s", *texts)


def _library_linger_ms(settings: Mapping[str, str | int | float | bool], linger_ms: float) -> float:
    # librdkafka refuses a time-out of rows that is shorter than the linger.
    ends = [float(settings.get("message.timeout.ms", 0))]
    if "transactional.id" in settings:
        ends.append(float(settings.get("transaction.timeout.ms", 60_000)))
    return max(linger_ms, min([_LIBRARY_LINGER_MS, *(end / 2 for end in ends if end > 0)]))


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
