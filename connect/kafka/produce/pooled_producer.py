"""Lets tasks that send little share a Kafka client; a task that sends more gets a client of its own.

A client costs three threads, a connection per broker and half a megabyte, whether it sends or not, and a worker may
have hundreds of sources of which few are busy at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Final, NamedTuple, Protocol

from confluent_kafka import KafkaError, KafkaException, Message

from connect.api.errors import RetriableError
from connect.kafka.client.errors import GIVEN_UP, FatalProducerError, PartlySentError, translate, undelivered
from connect.kafka.client.rights import Needs
from connect.kafka.produce.added_partitions import UNKNOWN_PARTITION
from connect.kafka.produce.producer import BatchProducer, Settings
from connect.kafka.produce.receipt import Receipt, Undelivered
from connect.kafka.produce.shared_producer import ANY_PARTITION, OnDelivery, SharedProducer
from connect.kafka.raw import RawBatch, RawHeaders, sent_time
from connect.lib.deadline import Deadline

LITTLE_ROWS: Final = 1000
LITTLE_BYTES: Final = 1024 * 1024
"""A task may send so many bytes a second through a shared client, and have so many waiting for acknowledgement."""
ALONE_S: Final = 60.0
"""A client of one task that sent nothing for so many seconds is closed, and the task shares one again."""
_WINDOW_S: Final = 1.0
_WAIT_S: Final = 0.1


class RowProducer(Protocol):
    """Defines what `BatchProducer` and `PooledProducer` have in common. Owned by one thread."""

    @property
    def outstanding(self) -> int:
        """Return the number of rows that were taken and are not acknowledged yet."""

    def send(self, batch: RawBatch, deadline: Deadline, receipt: Receipt | None = None) -> None:
        """Queue all rows in order. Acknowledged rows are counted in `receipt`, by `check` at the latest."""

    def check(self) -> None:
        """Raise the first error of a row that was not delivered."""

    def flush(self, deadline: Deadline) -> None:
        """Return when all queued rows are acknowledged."""

    def close(self, timeout_s: float = 0.0) -> None:
        """Wait at most `timeout_s` for acknowledgements, then drop the rest and free all."""


class ProducerPool:
    """Keeps the shared clients, one for equal settings. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # tasks begin and end on their own threads
        self._shared: dict[Hashable, SharedProducer] = {}
        self._users: dict[SharedProducer, int] = {}

    def take(self, settings: Settings) -> SharedProducer:
        """Return the client with these settings. It has to be given back."""
        key = frozenset(settings.items())
        with self._lock:
            shared = self._shared.get(key)
            if shared is None:
                shared = self._shared[key] = SharedProducer(settings)
            self._users[shared] = self._users.get(shared, 0) + 1
            return shared

    def give_back(self, shared: SharedProducer) -> None:
        """Give a client back; it is closed when nobody else has it."""
        with self._lock:
            self._users[shared] -= 1
            if self._users[shared]:
                return
            del self._users[shared]
            self._shared = {key: kept for key, kept in self._shared.items() if kept is not shared}
        shared.close(0.0)


class PooledProducer:
    """Sends as `BatchProducer` does, through a shared client as long as it sends little. Owned by one thread.

    Rows stay in order when the client changes, as all are acknowledged before. A row that fails is an error of its
    owner alone. If an owner closes before its rows are acknowledged, or the client ends by itself, all owners with rows
    on the way get an error, and read those rows again.
    """

    def __init__(self, pool: ProducerPool, shared: Settings, alone: Settings) -> None:
        """Take the settings of the shared client, and of the client that this producer would have alone."""
        self._pool = pool
        self._settings = (shared, alone)
        self._alone: BatchProducer | None = None
        self._shared: SharedProducer | None = pool.take(shared)
        self._changed = threading.Condition(threading.RLock())  # reports come on the shared client's thread
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._failure: Undelivered | None = None
        self._window = (0.0, 0, 0)
        self._partly: tuple[RawBatch, int] | None = None
        self._sent_s = 0.0

    @property
    def is_alone(self) -> bool:
        """Return True if it has a client of its own at the moment."""
        return self._alone is not None

    @property
    def outstanding(self) -> int:
        """Return the number of rows that were taken and are not acknowledged yet."""
        return self._alone.outstanding if self._alone is not None else self._waiting_rows

    def send(self, batch: RawBatch, deadline: Deadline, receipt: Receipt | None = None) -> None:
        """Queue all rows in order. Raise PartlySentError at the deadline; the same batch again adds the rest."""
        start = self._partly[1] if self._partly is not None and self._partly[0] is batch else 0
        self._partly = None
        rest = batch.slice(start, len(batch)) if start else batch
        receipt = receipt or Receipt()
        try:
            if self._alone is None and self._is_much(rest):
                self._go_alone(rest, deadline)
            if self._alone is None:
                self._send_shared(rest, deadline, receipt)
            else:
                self._sent_s = time.monotonic()
                self._alone.send(rest, deadline, receipt)
        except PartlySentError as error:
            self._partly = (batch, start + error.sent)
            raise

    def check(self) -> None:
        """Raise the first error of a row that was not delivered. Call it from time to time, also without rows."""
        if self._alone is not None:
            self._alone.check()
            if time.monotonic() - self._sent_s >= ALONE_S and not self._alone.outstanding:
                self._alone.close()
                self._alone, self._shared = None, self._pool.take(self._settings[0])
        elif self._failure is not None:
            error, doing = self._failure.error, self._failure.doing
            if error.code() in GIVEN_UP:
                raise FatalProducerError(
                    f"Failed {doing}: the client it shares with other tasks was closed before the row was acknowledged."
                )
            raise undelivered(error, doing, self._needs(self._failure.topic), in_transaction=False)

    def flush(self, deadline: Deadline) -> None:
        """Return when all queued rows are acknowledged. Raise RetriableError at the deadline; nothing is lost then."""
        if self._alone is not None:
            self._alone.flush(deadline)
            return
        with self._changed:
            while self._waiting_rows and self._failure is None:
                if deadline.expired:
                    raise RetriableError(
                        f"{self._waiting_rows} rows wait for the brokers' acknowledgement; the time for it is over."
                    )
                self._changed.wait(min(_WAIT_S, deadline.remaining_s))
        self.check()

    def close(self, timeout_s: float = 0.0) -> None:
        """Wait at most `timeout_s` for acknowledgements, then drop the rest. May be called twice."""
        if self._alone is not None:
            self._alone.close(timeout_s)
        shared, self._shared = self._shared, None
        if shared is None:
            return
        # The ledger knows which rows were acknowledged; the others are sent again. The rest is waited for also after a
        # row that failed, as otherwise the client's other owners would get errors.
        deadline = Deadline.after(timeout_s)
        with self._changed:
            while self._waiting_rows and not deadline.expired:
                self._changed.wait(min(_WAIT_S, deadline.remaining_s))
        if self._waiting_rows:
            # If they were sent later, they could come behind rows that this owner sends after its restart.
            shared.give_up("a task ended before its rows were acknowledged")
        self._pool.give_back(shared)

    def _needs(self, topic: str) -> Needs:
        return Needs.of(self._settings[0], "Write", [topic])

    def _is_much(self, batch: RawBatch) -> bool:
        now_s, size_bytes = time.monotonic(), batch.size_bytes
        since_s, rows, bytes_ = self._window
        if now_s - since_s >= _WINDOW_S:
            since_s, rows, bytes_ = now_s, 0, 0
        self._window = (since_s, rows + len(batch), bytes_ + size_bytes)
        return (
            max(rows, self._waiting_rows) + len(batch) > LITTLE_ROWS
            or max(bytes_, self._waiting_bytes) + size_bytes > LITTLE_BYTES
        )

    def _go_alone(self, batch: RawBatch, deadline: Deadline) -> None:
        assert self._shared is not None
        try:
            self.flush(deadline)
        except RetriableError as error:
            raise PartlySentError(f"No row for topic {batch.topic} was taken: {error}", sent=0) from error
        self._alone = BatchProducer(self._settings[1])
        self._alone.prepare()
        shared, self._shared = self._shared, None
        self._pool.give_back(shared)

    def _send_shared(self, batch: RawBatch, deadline: Deadline, receipt: Receipt) -> None:
        delivered = partial(self._delivered, receipt)
        for sent, row in enumerate(_rows(batch)):
            while not self._is_taken(batch, row, receipt, delivered):
                self.check()
                if not deadline.wait(_WAIT_S):
                    raise PartlySentError(
                        f"The queue of the shared producer stayed full: {sent} of {len(batch)} rows for topic "
                        f"{batch.topic} were taken.",
                        sent=sent,
                    )

    def _is_taken(self, batch: RawBatch, row: _Row, receipt: Receipt, delivered: OnDelivery) -> bool:
        """Return False if the queue is full, or the client is just told of a partition that was added."""
        assert self._shared is not None
        partition = ANY_PARTITION if batch.partition is None else batch.partition
        size_bytes = len(row.value or b"")
        self._wait_for(receipt, size_bytes)
        try:
            self._shared.produce(
                batch.topic, row.value, row.key, delivered,
                partition=partition, timestamp_ms=sent_time(row.timestamp_ms), headers=row.headers,
            )  # fmt: skip
        except BufferError:
            self._done_with(receipt, size_bytes)
            return False
        except KafkaException as error:
            if error.args[0].code() == UNKNOWN_PARTITION and self._shared.learns_of(batch.topic, partition):
                self._done_with(receipt, size_bytes)  # it is awaited anew when it is queued once more
                return False
            self._done_with(None, size_bytes)
            size = size_bytes + len(row.key or b"")
            failed = Undelivered(error.args[0], batch.topic, size)
            raise translate(failed.error, failed.doing, self._needs(batch.topic)) from error
        return True

    def _wait_for(self, receipt: Receipt, size_bytes: int) -> None:
        with self._changed:
            self._waiting_rows += 1
            self._waiting_bytes += size_bytes
            receipt.expect()

    def _done_with(self, receipt: Receipt | None, size_bytes: int) -> None:
        """Stop waiting for a row. Without `receipt` the row is not in Kafka, and its receipt stays open."""
        with self._changed:
            self._waiting_rows -= 1
            self._waiting_bytes -= size_bytes
            if receipt is not None:
                receipt.acknowledge()

    def _delivered(self, receipt: Receipt, error: KafkaError | None, message: Message) -> None:
        with self._changed:
            self._done_with(None if error is not None else receipt, len(message))
            if error is not None and self._failure is None:
                size = len(message.value() or b"") + len(message.key() or b"")
                self._failure = Undelivered(error, message.topic() or "", size)
            if not self._waiting_rows or self._failure is not None:
                self._changed.notify_all()


class _Row(NamedTuple):
    value: bytes | None
    key: bytes | None
    timestamp_ms: int | None
    headers: RawHeaders


def _rows(batch: RawBatch) -> Iterator[_Row]:
    nothing = [None] * len(batch)
    keys = nothing if batch.keys is None else batch.keys.to_pylist()
    times = nothing if batch.timestamps_ms is None else batch.timestamps_ms.to_pylist()
    headers = [()] * len(batch) if batch.headers is None else batch.headers
    return (_Row(*row) for row in zip(batch.values.to_pylist(), keys, times, headers, strict=True))
