"""Sends columns of bytes to Kafka, with queueing, back-pressure, delivery errors and transactions.

It does not repeat a task's work after an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.kafka.client.errors import FatalProducerError, PartlySentError, translate, translated, undelivered
from connect.kafka.client.inner_client import is_library_known
from connect.kafka.client.rights import Needs
from connect.kafka.produce.receipt import Receipt, Undelivered
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]

_WAIT_S: Final = 0.1
"""One wait for delivery events lasts at most so long, so that a stop is seen soon."""
_CONSEQUENCES: Final = frozenset({KafkaError._STATE, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001 - librdkafka's own codes begin so
"""Rows get these errors if they wait, or come, after the error by which a transaction has failed."""
_BEGUN_S: Final = 5.0
"""An abort waits for its rows for so long; brokers know a new transaction's partitions well before."""
_LEFT_OPEN_S: Final = 5.0
"""The time is in seconds: for so long `close` tries to abort an open transaction."""


class ProducerPath(Protocol):
    """Defines how rows get into librdkafka. Raises KafkaException, which BatchProducer translates."""

    def prepare(self) -> None:
        """Make the client connect, if brokers answer within a short time."""

    def enqueue(self, batch: RawBatch, start: int, receipt: Receipt) -> int:
        """Queue rows from `start` on, in order, until the queue is full. Return the number of rows that were queued.

        It may also be none because their partition was added to the topic a moment ago: the next call queues them.
        Their acknowledgements are counted in `receipt` while `poll` runs.
        """

    def poll(self) -> None:
        """Serve delivery reports and errors without waiting."""

    def drain(self, rows: int, timeout_s: float) -> None:
        """Serve delivery reports until at most `rows` rows are outstanding or the time is over."""

    def failure(self) -> Undelivered | None:
        """Return the first row that was not delivered; None as long as there is none."""

    def fatal(self) -> KafkaError | None:
        """Return the error that ended this producer for good; None as long as there is none."""

    def outstanding(self) -> int:
        """Return the number of rows that are queued or on the way."""

    def purge(self) -> None:
        """Drop rows that are queued or on the way."""

    def init_transactions(self, timeout_s: float) -> None:
        """Fence older producers of this transactional id."""

    def begin_transaction(self) -> None:
        """Open a transaction."""

    def commit_transaction(self, timeout_s: float) -> None:
        """Commit; may be called again after a retriable error."""

    def abort_transaction(self, timeout_s: float) -> None:
        """Abort; may be called again after a retriable error."""

    def close(self) -> None:
        """Free everything without waiting for delivery."""


def _paths() -> Mapping[str, Callable[[Settings], ProducerPath]]:
    from connect.kafka.produce.columnar_path import ColumnarPath
    from connect.kafka.produce.plain_path import PlainPath

    return {"columnar": ColumnarPath, "plain": PlainPath}


def _default_path(settings: Settings) -> str:
    # confluent_kafka fetches OAuth tokens through its own callbacks, which a client of our own does not have.
    login = str(settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")))
    return "plain" if login.upper() == "OAUTHBEARER" else "columnar"


class BatchProducer:
    """Sends whole batches to Kafka; owned by one thread.

    `settings` are librdkafka's (`connect.kafka.client.settings`), and `producer.path`: columnar (the default) or plain.
    After a FatalProducerError or FencedError every later call raises it again: close this producer, make a new one.
    """

    def __init__(self, settings: Settings) -> None:
        own = dict(settings)
        name = str(own.pop("producer.path", _default_path(own)))
        paths = _paths()
        if name not in paths:
            raise ConfigError(f"Invalid value {name} for producer.path: must be one of {', '.join(paths)}.", key="path")
        if not is_library_known():
            name = "plain"  # The other path calls librdkafka itself.
        with translated("making a producer"):
            self._path: ProducerPath = paths[name](own)
        self._partly: tuple[RawBatch, int] | None = None
        self._client = Needs.of(own, "Write")
        self._transactional = bool(own.get("transactional.id"))
        self._topics: set[str] = set()
        """Holds the topics of the open transaction."""
        self._purged = False
        self._closed = False
        self._is_left_open = False
        """Tells that a transaction is open that nobody has tried to abort."""

    def prepare(self) -> None:
        """Prepare to send, within half a second. Brokers that are away are no error yet."""
        self._path.prepare()

    @property
    def outstanding(self) -> int:
        """Return the number of rows that were taken and are not acknowledged yet."""
        return self._path.outstanding()

    def send(self, batch: RawBatch, deadline: Deadline, receipt: Receipt | None = None) -> None:
        """Queue all rows in order. Return before they are acknowledged, which is counted in `receipt` later.

        Wait for a full queue until the deadline, then raise PartlySentError: call again with the *same* batch object,
        which adds only the rows that are not queued yet. For other errors see `check`.
        """
        start = self._partly[1] if self._partly is not None and self._partly[0] is batch else 0
        self._partly = None
        receipt = receipt or Receipt()
        if self._transactional:
            self._topics.add(batch.topic)
        while True:
            start += self._enqueue(batch, start, receipt)
            if start == len(batch):
                self._path.poll()
                return
            self.check()
            if deadline.expired:
                self._partly = (batch, start)
                raise PartlySentError(
                    f"The producer's queue stayed full writing to topic {batch.topic}: {start} of {len(batch)} rows"
                    f" were taken, {self.outstanding} rows wait for the brokers.",
                    sent=start,
                )
            # Wait for a quarter of the queue: refilling slot by slot would slice the batch anew for each slot.
            self._path.drain(self.outstanding * 3 // 4, min(_WAIT_S, deadline.remaining_s))

    def check(self) -> None:
        """Serve delivery reports without waiting, and raise the first error of a row that was not delivered."""
        self._path.poll()
        fatal = self._path.fatal()
        if fatal is not None:
            raise self._ended(fatal)
        failure = self._path.failure()
        if failure is not None:
            cause = self._cause(failure.error)
            needs = self._needs(failure.topic)
            raise undelivered(cause, failure.doing, needs, in_transaction=self._transactional)

    def flush(self, deadline: Deadline) -> None:
        """Return when all queued rows are acknowledged. Raise RetriableError at the deadline; nothing is lost then."""
        while True:
            self.check()
            waiting = self.outstanding
            if not waiting:
                return
            if deadline.expired:
                raise RetriableError(f"{waiting} rows wait for the brokers' acknowledgement; the time for it is over.")
            self._path.drain(0, min(_WAIT_S, deadline.remaining_s))

    def init_transactions(self, deadline: Deadline) -> None:
        """Fence older producers of this transactional id, and end their transactions. Call it once, before `begin`."""
        self._transact("initialising transactions", self._path.init_transactions, deadline)

    def begin(self) -> None:
        """Open a transaction, which contains the rows that are sent from now on."""
        self._topics.clear()
        with translated("opening a transaction", self._needs()):
            self._path.begin_transaction()
        self._is_left_open = True

    def commit(self, deadline: Deadline) -> None:
        """Flush and commit. After a RetriableError call it again; after an AbortableError abort and repeat the work."""
        self.flush(deadline)
        self._transact("committing a transaction", self._path.commit_transaction, deadline)
        self._is_left_open = False

    def abort(self, deadline: Deadline) -> None:
        """Abort the open transaction, so that nobody reads its rows. After a RetriableError call it again."""
        self._partly = None
        self._is_left_open = False
        self._await_begun(deadline.sooner(_BEGUN_S))
        self._transact("aborting a transaction", self._path.abort_transaction, deadline)

    def purge(self) -> None:
        """Drop all rows that are not acknowledged, as the task is killed. A restart sends them again."""
        self._partly = None
        self._purged = True
        self._path.purge()

    def close(self, timeout_s: float = 0.0) -> None:
        """Wait at most `timeout_s` for acknowledgements, then drop the rest and free all. May be called twice.

        An open transaction is aborted, as readers of committed records would wait for it until it times out.
        """
        if self._closed:
            return
        if self._is_left_open and not self._purged:
            with suppress(ConnectError):  # The next owner of the id ends the transaction, or else its time-out does.
                self.abort(Deadline.after(_LEFT_OPEN_S))
        with suppress(ConnectError):  # The ledger knows which rows were acknowledged; the others are sent again.
            self.flush(Deadline.after(timeout_s))
        self._closed = True
        self._path.purge()
        self._path.close()

    def _enqueue(self, batch: RawBatch, start: int, receipt: Receipt) -> int:
        try:
            return self._path.enqueue(batch, start, receipt)
        except KafkaException as error:
            fatal = self._path.fatal()
            if fatal is not None:
                raise self._ended(fatal) from error
            raise self._refused(self._cause(error.args[0]), batch) from error

    def _cause(self, error: KafkaError) -> KafkaError:
        """Return the error for which librdkafka has given up the open transaction.

        After that error librdkafka drops rows and takes no more, and only another call tells the error. This calls
        `begin_transaction`, which changes nothing, as a transaction cannot begin inside of an open one.
        """
        if not self._transactional or self._purged or error.code() not in _CONSEQUENCES:
            return error
        try:
            self._path.begin_transaction()
        except KafkaException as told:
            cause: KafkaError = told.args[0]
            return cause if cause.txn_requires_abort() else error
        return error

    def _needs(self, *topics: str) -> Needs:
        return self._client._replace(topics=self._topics.union(topics))

    def _refused(self, error: KafkaError, batch: RawBatch) -> ConnectError:
        """Return the error for a row that librdkafka did not take.

        It names the largest row, as the refused one is not known on every path.
        """
        what = f"topic {batch.topic}"
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            import pyarrow.compute as pc

            what = f"topic {batch.topic} (largest value {pc.max(pc.binary_length(batch.values)).as_py()} bytes)"
        return translate(error, f"writing to {what}", self._needs(batch.topic))

    def _await_begun(self, deadline: Deadline) -> None:
        """Wait until the transaction's rows are acknowledged, or one failed.

        A broker that is still ending the previous transaction does not know this one yet. librdkafka would ask it to
        abort all the same, and its answer (INVALID_TXN_STATE) would end the producer for good.
        """
        while self.outstanding and self._path.failure() is None and self._path.fatal() is None:
            if deadline.expired:
                return
            self._path.drain(0, min(_WAIT_S, deadline.remaining_s))

    def _transact(self, doing: str, call: Callable[[float], None], deadline: Deadline) -> None:
        """Repeat a call with short time-outs, so that a stop is seen. librdkafka resumes the call where it was."""
        while True:
            began_s = time.monotonic()
            try:
                call(min(1.0, max(0.001, deadline.remaining_s)))
            except KafkaException as error:
                ours = self._translated(error.args[0], doing)
                if type(ours) is not RetriableError or deadline.expired:
                    raise ours from error
                deadline.wait(max(0.0, _WAIT_S - (time.monotonic() - began_s)))
            else:
                return

    def _translated(self, error: KafkaError, doing: str) -> ConnectError:
        fatal = self._path.fatal()
        return self._ended(fatal) if fatal is not None else translate(error, doing, self._needs())

    def _ended(self, fatal: KafkaError) -> ConnectError:
        ours = translate(fatal, "producing", self._needs())
        return ours if not isinstance(ours, RetriableError) else FatalProducerError(ours.message)
