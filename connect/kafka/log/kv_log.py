"""Reads a compacted topic whole and follows it. The worker's configs, offsets and statuses are kept in such topics."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.errors import is_of_unjoined_group, is_retriable, translate, translated
from connect.kafka.client.rights import Needs
from connect.kafka.client.settings import admin_part
from connect.kafka.log.kv_writer import KeyValue, RecordWriter, TransactionWriter
from connect.kafka.log.shared_answer import SharedAnswer
from connect.kafka.log.topic_partitions import partitions_of
from connect.kafka.produce.shared_producer import SharedProducer
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]
OnRecord = Callable[[bytes | None, bytes | None, int, int, int], None]
"""It is called with key, value (None: removed), partition, offset and timestamp in ms."""

_LOG = logging.getLogger("connect.kafka.log.kv_log")
_POLL_S: Final = 0.2
"""A poll wakes its thread this often in any case, as confluent_kafka looks for signals."""
_PAUSE_S: Final = 0.2
_ANSWER_S: Final = 5.0
_LOOK_AGAIN_S: Final = 1.0
"""Added partitions that could not be looked up are looked up again after so long."""
_SLICE: Final = 1000
_FETCH_AGAIN_MS: Final = 50
"""A fetch of a new topic, which its leader may not know yet, is repeated after so long; librdkafka waits 500 ms."""


class KeyValueLog:
    """Reads the topic on a thread of its own and calls `on_record` there, in order of each partition.

    `put` and `read_to_end` may be called from any other thread. `on_error` is called with errors that a person must
    mend (rights, a deleted topic, a callback that raised). Brokers that are away are waited for in silence.
    """

    def __init__(
        self,
        topic: str,
        consumer: Settings,
        producer: Settings | SharedProducer | None = None,
        *,
        on_record: OnRecord,
        on_error: Callable[[ConnectError], None] | None = None,
        transactional: Settings | None = None,
    ) -> None:
        """Take the settings of the clients.

        `producer` holds a producer's settings, or is a shared producer. `transactional` holds the settings of a second
        producer, with its transactional.id, for `put_all` in transactions.
        """
        self.topic = topic
        self._consumer_settings = {
            "fetch.error.backoff.ms": _FETCH_AGAIN_MS,
            **consumer,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            # Transaction markers are no records, so only this event tells that the end behind them was reached.
            "enable.partition.eof": True,
            "error_cb": self._on_client_error,
        }
        self._needs = Needs.of(consumer, "Read", [topic])
        self._on_record = on_record
        self._on_error = on_error or _log_error
        # confluent_kafka lets one thread at a time into a client, and the reader is always inside its consumer.
        self._admin = TopicAdmin(admin_part(consumer))
        # Writers have threads, so they are made after all that may fail.
        self._writer = RecordWriter(topic, producer) if producer is not None else None
        self._transactions = TransactionWriter(topic, transactional) if transactional is not None else None
        self._consumer: Consumer | None = None
        self._shared_ends = SharedAnswer(lambda deadline: self._ends(deadline, committed_only=False))
        self._positions: dict[int, int] = {}
        self._added: Sequence[int] = ()
        """Holds the partitions that the topic was given since, until the reader reads them, too."""
        self._next_look_s = 0.0
        self._written: dict[int, int] = {}
        """Holds the offset behind the record that `put` wrote last into each partition."""
        self._moved = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, name=f"kv-log-{topic}", daemon=True)
        self.last_error: ConnectError | None = None
        """Holds the last error of the reader; it is None again once records or ends are read."""

    def start(self, deadline: Deadline) -> None:
        """Read the topic to its end, and follow it from then on.

        Raise RetriableError if the end was not reached in time; then this log is closed, and another one is needed.
        """
        with self._closed_on_failure():
            self._begin(deadline)
            self.read_to_end(deadline)

    def begin(self, deadline: Deadline) -> None:
        """Begin to read as `start` does, but do not wait for the end, which an open transaction may hide."""
        with self._closed_on_failure():
            self._begin(deadline)

    def put(self, key: bytes, value: bytes | None) -> Future[None]:
        """Write a record (None: a tombstone). The future ends when every in-sync replica has it."""
        if self._writer is None:
            raise ConnectError(f"The log of topic {self.topic} was opened for reading only.")
        return self._writer.put(key, value, self._wrote)

    def put_all(self, records: Sequence[KeyValue], transactional: bool = False) -> Future[None]:
        """Write records in order; if `transactional`, all or none of them, after `claim`.

        The future fails with FencedError if another owner has claimed the id."""
        if not records:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        if not transactional:
            return _all_of([self.put(key, value) for key, value in records])
        return self._claimed().put_all(records)

    def give_up(self, reason: str) -> None:
        """Fail all records of `put` that are not acknowledged yet, so that none of them is written later.

        If the producer is shared, those of others fail, too.
        """
        if self._writer is not None:
            self._writer.give_up(reason)

    def claim(self, deadline: Deadline) -> None:
        """Fence older owners of the transactional id, so that only this log may write in transactions."""
        self._claimed().claim(deadline)

    def read_to_end(self, deadline: Deadline, *, committed_only: bool = False) -> None:
        """Return once every record that was in the topic at the time of the call was given to `on_record`.

        Wait also for a transaction that is open then, even as a reader of committed records: its commit may be
        acknowledged before its records can be read. With `committed_only` stop where the first open one begins.
        """
        ends = self._ends(deadline, committed_only) if committed_only else self._shared_ends.get(deadline)
        self._read_until(ends, deadline)

    def read_back(self, deadline: Deadline) -> None:
        """Return once all records that `put` has written, and those before them, were given to `on_record`.

        It asks brokers for the end only if one did not tell the offset of a record, for example as it had the record
        already. Records that were written in transactions are not waited for.
        """
        with self._moved:
            written = dict(self._written)
        if all(end > 0 for end in written.values()):
            self._read_until(written, deadline)
        else:
            self.read_to_end(deadline)

    def _read_until(self, ends: Mapping[int, int], deadline: Deadline) -> None:
        with self._moved:
            while not _reached(self._positions, ends):
                if self._stop.is_set():
                    raise ConnectError(f"The log of topic {self.topic} is closed.")
                if deadline.expired:
                    raise RetriableError(
                        f"Topic {self.topic} was not read to its end in time: {_distance(self._positions, ends)}."
                    )
                self._moved.wait(min(_POLL_S, deadline.remaining_s))

    def close(self, timeout_s: float = 5.0) -> None:
        """Write queued records for at most `timeout_s` seconds, and close the clients. May be called twice."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close(timeout_s)
        transactions, self._transactions = self._transactions, None
        if transactions is not None:
            transactions.close()

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Close the clients if the block fails, as one that the garbage collector ends may hang for ever."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _begin(self, deadline: Deadline) -> None:
        with translated(f"making a consumer for topic {self.topic}", self._needs):
            self._consumer = Consumer(self._consumer_settings, logger=client_logger("kv_log"))
        partitions = partitions_of(self._client(), self.topic, deadline, self._needs)
        self._positions = dict.fromkeys(partitions, 0)
        # It is a number, as librdkafka may take half a second to look up "beginning". If it is gone, the reset counts.
        self._consumer.assign([KafkaPartition(self.topic, p, 0) for p in partitions])
        self._thread.start()

    def _claimed(self) -> TransactionWriter:
        if self._transactions is None:
            raise ConnectError(f"The log of topic {self.topic} was opened without a transactional.id.")
        return self._transactions

    def _client(self) -> Consumer:
        if self._consumer is None:
            raise ConnectError(f"The log of topic {self.topic} is not started, or closed.")
        return self._consumer

    def _look_for_added(self, deadline: Deadline) -> None:
        """Have the reader read the partitions that the topic was given since it began, and wait until it does."""
        count = self._admin.partition_count(self.topic, deadline)
        with self._moved:
            self._added = range(len(self._positions), count)
            while self._added and not self._stop.is_set():
                if deadline.expired:
                    raise RetriableError(f"The partitions that topic {self.topic} was given were not found in time.")
                self._moved.wait(min(_POLL_S, deadline.remaining_s))

    def _try_added(self) -> None:
        """Read added partitions, too. The others are read on if that fails, and it is tried again after a while."""
        if not self._added or time.monotonic() < self._next_look_s:
            return
        try:
            self._read_added()
        except ConnectError as error:
            self._next_look_s = time.monotonic() + _LOOK_AGAIN_S
            if isinstance(error, RetriableError):
                self.last_error = error
            else:
                self._report(error)

    def _read_added(self) -> None:
        # The consumer hears of them by that.
        partitions = partitions_of(self._client(), self.topic, Deadline.after(_ANSWER_S), self._needs)
        with self._moved:
            if len(partitions) <= len(self._positions):
                return  # This broker does not know them yet.
            _LOG.warning(
                "Topic %s has %d partitions now, and had %d: records of one key may lie in two of them.",
                *(self.topic, len(partitions), len(self._positions)),
            )
            positions = dict.fromkeys(partitions, 0) | self._positions
            self._client().assign([KafkaPartition(self.topic, p, at) for p, at in positions.items()])
            self._positions = positions
            self._added = ()
            self._moved.notify_all()

    def _ends(self, deadline: Deadline, committed_only: bool) -> dict[int, int]:
        self._look_for_added(deadline)
        with self._moved:  # the reader may add members
            wanted = [TopicPartition(self.topic, p) for p in self._positions]
        ends = self._admin.end_offsets(wanted, deadline, committed_only=committed_only)
        return {tp.partition: end for tp, end in ends.items()}

    def _wrote(self, partition: int, offset: int) -> None:
        with self._moved:
            self._written[partition] = offset + 1

    def _read(self) -> None:
        while not self._stop.is_set():
            try:
                self._try_added()
                first = self._client().poll(_POLL_S)
                if first is not None:
                    self._take([first])  # handed on at once, as it would be lost if the next call failed
                    self._take(self._client().consume(_SLICE, 0))
            except KafkaException as error:
                self._report(translate(error.args[0], f"reading topic {self.topic}", self._needs))
                self._stop.wait(_PAUSE_S)
            except ConnectError as error:
                self._report(error)
                self._stop.wait(_PAUSE_S)

    def _take(self, messages: Sequence[Message]) -> None:
        positions: dict[int, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                self._give(message)
                positions[message.partition() or 0] = (message.offset() or 0) + 1
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own code
                positions[message.partition() or 0] = message.offset() or 0
            elif not (is_retriable(error) or is_of_unjoined_group(error)):
                self._report(translate(error, f"reading topic {self.topic}", self._needs))
        if positions:
            self.last_error = None
            with self._moved:
                self._positions.update(positions)
                self._moved.notify_all()

    def _give(self, message: Message) -> None:
        place = (message.partition() or 0, message.offset() or 0, message.timestamp()[1])
        try:
            self._on_record(message.key(), message.value(), *place)
        except Exception as error:  # noqa: BLE001 - one bad record must not end the log; the owner hears of it
            where = f"topic {self.topic}, partition {place[0]}, offset {place[1]}"
            self._report(ConnectError(f"Failed taking the record at {where}: {type(error).__name__}: {error}"))

    def _on_client_error(self, error: KafkaError) -> None:
        if is_of_unjoined_group(error):
            return
        ours = translate(error, f"reading topic {self.topic}", self._needs)
        if is_retriable(error):
            self.last_error = ours
        else:
            self._report(ours)

    def _report(self, error: ConnectError) -> None:
        self.last_error = error
        self._on_error(error)


def _log_error(error: ConnectError) -> None:
    _LOG.error("%s", error)


def _reached(positions: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    return all(positions[p] >= end for p, end in ends.items())


def _distance(positions: Mapping[int, int], ends: Mapping[int, int]) -> str:
    behind = {p: (positions[p], end) for p, end in ends.items() if positions[p] < end}
    return ", ".join(f"partition {p} at offset {at} of {end}" for p, (at, end) in sorted(behind.items()))


def _all_of(parts: Sequence[Future[None]]) -> Future[None]:
    """Return a future that is done when all are, and fails with the first error."""
    whole: Future[None] = Future()
    left = len(parts)
    lock = threading.Lock()  # the parts may end on several threads

    def ended(part: Future[None]) -> None:
        nonlocal left
        with lock:
            left -= 1
            if whole.done():
                return
            if (error := part.exception()) is not None:
                whole.set_exception(error)
            elif left == 0:
                whole.set_result(None)

    for part in parts:
        part.add_done_callback(ended)
    return whole
