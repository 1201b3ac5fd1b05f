"""Sends the lines of the audit log to a topic: each once, and lost lines are counted and logged.

A topic that is deleted is made again, and the lines that it did not take are sent to the new one, in their order.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from concurrent.futures import Future
from heapq import heappop, heappush
from typing import Final, NamedTuple

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import MissingTopicError
from connect.kafka.client.settings import admin_settings, producer_settings
from connect.kafka.log.kv_writer import RecordWriter
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_access_keys import AUDIT_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

HELD_MAX: Final = 10_000
"""At most this many lines wait for Kafka while it is away, and as many for a new topic; further ones are lost."""
HELD_MS: Final = 3_600_000
"""A line waits this many milliseconds for Kafka; then it is lost, and counted."""
CLOSE_S: Final = 5.0
_MAKE_S: Final = 60.0
_AGAIN_S: Final = 0.5
_ASK_S: Final = 2.0
"""Kafka is asked for the topic at most this often, as it tells producers of a new one a moment later."""
_REFUSED_S: Final = 60.0
"""The topic is not asked for again for so long after Kafka refused to make it."""
log = logging.getLogger(__name__)


class _Line(NamedTuple):
    """Holds a line, and its place among those of this worker."""

    number: int
    key: bytes
    value: bytes
    done: Future[None]


class AuditTopic:
    """Sends lines with a producer of its own. Any thread may call it, and no caller waits."""

    def __init__(self, worker: WorkerConfig, topic: str) -> None:
        """Open the topic with the worker's own login."""
        self._worker = worker
        self._topic = topic
        self._may_make = worker.internal_topics_automatic_creation_enable
        self._lost = self._count = 0
        self._on_the_way = 0
        """The writer has so many lines now."""
        self._held: list[_Line] = []
        """This heap holds the lines that wait for a new topic, by number."""
        self._is_holding = False
        """True from a line that found no topic until all lines of that time are sent: the others wait behind it."""
        self._is_missing = False
        """True if Kafka had no topic for the line that ended last."""
        # The producer's thread, the thread of our own and those that put lines share the above.
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._asked_s = self._refused_until_s = -math.inf
        self._writer = RecordWriter(topic, self._settings())
        self._keeper = threading.Thread(target=self._keep, name="audit-topic", daemon=True)
        self._keeper.start()

    @property
    def lost(self) -> int:
        """Return how many lines Kafka did not take."""
        with self._changed:
            return self._lost

    def put(self, line: bytes, connectors: list[str]) -> Future[None]:
        """Send a line, in order with others about its connector. The future is done when every in-sync replica has the
        line.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # A request that is broken off takes no line back.
        done.add_done_callback(self._ended)
        key = connectors[0].encode(errors="replace") if connectors else b""
        with self._changed:
            self._count += 1
            one = _Line(self._count, key, line, done)
            is_held = self._is_holding and not self._closing.is_set()
            if is_held:
                self._hold(one)
            else:
                self._on_the_way += 1
        if not is_held:
            self._send(one)
        return done

    def close(self) -> None:
        """Wait for Kafka at most twice `CLOSE_S`, and log how many lines it did not take."""
        with self._changed:
            self._closing.set()
            self._changed.notify()
        self._keeper.join(CLOSE_S)
        self._writer.close(CLOSE_S)
        with self._changed:
            held, self._held = self._held, []
        for line in held:
            line.done.set_exception(RetriableError(f"Topic {self._topic} was not there before the worker ended."))
        if self.lost:
            self._tell(self.lost, "the worker has ended")

    def _send(self, line: _Line) -> None:
        """Give the writer a line, which is on the way already. No lock is held, as the writer may tell at once."""
        if self._closing.is_set():  # A closed producer would keep the line, and tell nobody.
            self._sent(line, RetriableError(f"A line for topic {self._topic} came when the worker had ended."))
        else:
            self._writer.put(line.key, line.value).add_done_callback(lambda sent: self._sent(line, sent.exception()))

    def _sent(self, line: _Line, error: BaseException | None) -> None:
        with self._changed:
            self._on_the_way -= 1
            is_held = isinstance(error, MissingTopicError) and self._may_wait()
            self._is_missing = is_held
            if is_held:
                self._hold(line)
            self._changed.notify()
        if is_held:
            return
        if error is None:
            line.done.set_result(None)
        else:
            line.done.set_exception(error)

    def _may_wait(self) -> bool:
        """Return True if a line for which there is no topic waits for one."""
        return self._may_make and not self._closing.is_set() and time.monotonic() >= self._refused_until_s

    def _hold(self, line: _Line) -> None:
        """Have a line wait for the topic, and with it all later ones."""
        if len(self._held) >= HELD_MAX:
            line.done.set_exception(RetriableError(f"{HELD_MAX} lines wait for topic {self._topic} already."))
            return
        self._is_holding = True
        heappush(self._held, line)

    def _keep(self) -> None:
        """Make the topic, and send the lines that wait for it. This runs on a thread of its own until the end."""
        self._make()
        before: _Line | None = None
        while (line := self._next()) is not None:
            if line is before:
                self._closing.wait(_AGAIN_S)
            before = line
            if self._is_missing:
                self._make()
            self._send(line)

    def _next(self) -> _Line | None:
        """Wait for a line that waits for the topic, and return the first one, now on the way; None at the end.

        All lines that were sent have ended then, so that none of them comes back to be sent behind this one.
        """
        with self._changed:
            while not self._closing.is_set():
                if not self._on_the_way:
                    if self._held:
                        self._on_the_way += 1
                        return heappop(self._held)
                    self._is_holding = False
                self._changed.wait()
        return None

    def _ended(self, sent: Future[None]) -> None:
        error = sent.exception()
        if error is not None:
            with self._changed:
                self._lost += 1
                lost = self._lost
            if lost & (lost - 1) == 0:  # The 1st, 2nd, 4th, 8th … are logged: an hour without Kafka fills no log.
                self._tell(lost, str(error))

    def _tell(self, lost: int, error: str) -> None:
        log.error("audit_lines_lost", extra={"topic": self._topic, "lost": lost, "error": error})

    def _make(self) -> None:
        """Make the topic if it is missing, but ask seldom: a producer hears of a new topic only later."""
        worker, now_s = self._worker, time.monotonic()
        is_early = now_s - self._asked_s < _ASK_S or now_s < self._refused_until_s
        if not self._may_make or is_early or self._closing.is_set():
            return
        deadline = Deadline.after(_MAKE_S, self._closing)
        try:
            admin = TopicAdmin(admin_settings(worker.originals, {}, f"{worker.client_prefix}-audit").properties)
            admin.create(self._topic, replication_factor=worker.config_storage_replication_factor, deadline=deadline)
        except ConnectError as error:
            log.warning("%s %s could not be made: %s", AUDIT_TOPIC, self._topic, error)
            if not isinstance(error, RetriableError):
                self._refused_until_s = time.monotonic() + _REFUSED_S
        self._asked_s = time.monotonic()

    def _settings(self) -> dict[str, str | int | float | bool]:
        worker = self._worker
        given = producer_settings(worker.originals, {}, client_id=f"{worker.client_prefix}-audit").properties
        held = {"queue.buffering.max.messages": HELD_MAX, "message.timeout.ms": HELD_MS}
        return {**{key: value for key, value in given.items() if key != "delivery.timeout.ms"}, **held}
