"""Sends the lines of the audit log to a topic: each once, and lost lines are counted and logged.

A topic that is deleted is made again, and the lines that it did not take are sent to the new one.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import MissingTopicError
from connect.kafka.client.settings import admin_settings, producer_settings
from connect.kafka.log.kv_writer import RecordWriter
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_access_keys import AUDIT_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

HELD_MAX: Final = 10_000
"""At most this many lines wait for Kafka while it is away; further ones are lost, and counted."""
HELD_MS: Final = 3_600_000
"""A line waits this many milliseconds for Kafka; then it is lost, and counted."""
CLOSE_S: Final = 5.0
_MAKE_S: Final = 60.0
_HEARD_S: Final = 60.0
_AGAIN_S: Final = 0.5
log = logging.getLogger(__name__)


class AuditTopic:
    """Sends lines with a producer of its own. Any thread may call it, and no caller waits."""

    def __init__(self, worker: WorkerConfig, topic: str, writer: RecordWriter | None = None) -> None:
        """Open the topic. Without `writer` a producer with the worker's own login is made."""
        self._worker = worker
        self._topic = topic
        self._lost = self._again = 0
        self._made_s = -_HEARD_S
        self._lock = threading.Lock()  # The producer's thread and the threads that put lines count lost ones.
        self._closing = threading.Event()
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="audit-topic")
        if writer is None:
            writer = RecordWriter(topic, self._settings())
            self._starter.submit(self._make)
        self._writer = writer

    @property
    def lost(self) -> int:
        """Return how many lines Kafka did not take."""
        with self._lock:
            return self._lost

    def put(self, line: bytes, connectors: list[str]) -> Future[None]:
        """Send a line, in order with others about its connector. The future is done when every in-sync replica has the
        line.
        """
        done: Future[None] = Future()
        done.add_done_callback(self._ended)
        self._send(connectors[0].encode(errors="replace") if connectors else b"", line, done)
        return done

    def _send(self, key: bytes, line: bytes, done: Future[None]) -> None:
        def ended(sent: Future[None]) -> None:
            error = sent.exception()
            if error is None:
                done.set_result(None)
            elif isinstance(error, RetriableError) or not self._may_send_again():
                done.set_exception(error)
            else:
                queued = self._starter.submit(self._send_again, key, line, error, done)
                queued.add_done_callback(lambda task: self._sent_again(task, error, done))

        self._writer.put(key, line).add_done_callback(ended)

    def _may_send_again(self) -> bool:
        """Return True if a line that Kafka refused is sent again, and note that it waits for that."""
        with self._lock:
            may = self._worker.internal_topics_automatic_creation_enable and not self._closing.is_set()
            may = may and self._again < HELD_MAX
            self._again += may
            return may

    def _send_again(self, key: bytes, line: bytes, error: BaseException, done: Future[None]) -> None:
        """Send a line that Kafka refused again if the topic was deleted, which is made anew.

        Kafka refuses it until the producer has heard of the new topic. So the lines behind it wait, too.
        """
        is_there, is_new = self._make()
        deadline = Deadline.after(_HEARD_S, self._closing)
        while is_there and (is_new or isinstance(error, MissingTopicError)):
            try:
                self._writer.put(key, line).result()
            except ConnectError as next_error:
                error = next_error
                if isinstance(error, RetriableError) or not deadline.wait(_AGAIN_S):
                    break
            else:
                done.set_result(None)
                return
        done.set_exception(error)

    def _sent_again(self, task: Future[None], error: BaseException, done: Future[None]) -> None:
        with self._lock:
            self._again -= 1
        if task.cancelled():
            done.set_exception(error)

    def close(self) -> None:
        """Wait for Kafka at most `CLOSE_S`, and log how many lines it did not take."""
        self._closing.set()
        self._starter.shutdown(wait=False, cancel_futures=True)
        self._writer.close(CLOSE_S)
        if self.lost:
            self._tell(self.lost, "the worker has ended")

    def _ended(self, sent: Future[None]) -> None:
        error = sent.exception()
        if error is not None:
            with self._lock:
                self._lost += 1
                lost = self._lost
            if lost & (lost - 1) == 0:  # The 1st, 2nd, 4th, 8th … are logged: an hour without Kafka fills no log.
                self._tell(lost, str(error))

    def _tell(self, lost: int, error: str) -> None:
        log.error("audit_lines_lost", extra={"topic": self._topic, "lost": lost, "error": error})

    def _make(self) -> tuple[bool, bool]:
        """Make the topic if it is missing. Return if it is there now, and if it was made a moment ago."""
        worker = self._worker
        if not worker.internal_topics_automatic_creation_enable:
            return False, False
        admin = TopicAdmin(admin_settings(worker.originals, {}, f"{worker.client_prefix}-audit").properties)
        factor = worker.config_storage_replication_factor
        try:
            if admin.create(self._topic, replication_factor=factor, deadline=Deadline.after(_MAKE_S)):
                self._made_s = time.monotonic()
        except ConnectError as error:
            log.warning("%s %s could not be made: %s", AUDIT_TOPIC, self._topic, error)
            return False, False
        return True, time.monotonic() - self._made_s < _HEARD_S

    def _settings(self) -> dict[str, str | int | float | bool]:
        worker = self._worker
        given = producer_settings(worker.originals, {}, client_id=f"{worker.client_prefix}-audit").properties
        held = {"queue.buffering.max.messages": HELD_MAX, "message.timeout.ms": HELD_MS}
        return {**{key: value for key, value in given.items() if key != "delivery.timeout.ms"}, **held}
