"""Keeps the config topic as this worker has read it, and writes to it. A caller can read at once what it wrote."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.model.config_history import added, removed
from connect.cluster.model.config_records import (
    CommitRecord,
    ConfigHistoryRecord,
    ConfigRecord,
    ConnectorRecord,
    LoggerRecord,
    RestartRecord,
    TargetRecord,
    TaskRecord,
    WorkerRecord,
    connector_of,
    encode,
)
from connect.cluster.model.config_state import Claims, ConfigSnapshot, ConfigState
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.history import Author
from connect.cluster.model.record_json import KeyedBytes, RecordFormatError
from connect.cluster.store.config_opening import ConfigOpening
from connect.cluster.store.record_log import MakeLog, OpenedLog, RecordLog
from connect.cluster.store.record_seals import RecordSeals
from connect.cluster.store.skipped_records import SkippedRecords
from connect.kafka.client.errors import FencedError
from connect.lib.deadline import Deadline
from connect.runtime.task.task_id import TaskId

WRITE_TIMEOUT_S: Final = 30.0
"""This many seconds a write and reading it back may take: KafkaConfigBackingStore's READ_WRITE_TOTAL_TIMEOUT_MS."""
DELIVERY_TIMEOUT_S: Final = 25.0
"""A record that no broker has taken after this many seconds is given up, so that it does not come behind those of a
later leader: whoever asked for it is told that it was not written. It is well below `WRITE_TIMEOUT_S`.
"""

NOT_WRITTEN: Final = (
    "Failed to write to config topic; this may be due to a transient error and the request can be safely retried"
)
_ANYONES: Final = (TargetRecord, LoggerRecord, WorkerRecord)
"""Any worker may write records of these types; the leader alone writes all others."""


class ConfigListener(Protocol):
    """Hears of changes, on the log's thread; must return at once. It is not called for records read at the start."""

    def config_changed(self) -> None:
        """Take note that the snapshot has changed."""

    def restart_requested(self, request: RestartRecord) -> None:
        """Take note that somebody asked for a restart of a connector."""

    def log_level_requested(self, request: LoggerRecord) -> None:
        """Take note that somebody set a log level for all workers."""


class Claim(Enum):
    """Tells the state of a worker's right to write as the leader, if the leader writes in transactions."""

    NONE = "none"
    HELD = "held"
    LOST = "lost"
    """Another worker has claimed the right. This one may claim it again only after it has seen that it leads."""


class ConfigStore:
    """Keeps the config topic as read, and writes to it. Fed by the log's thread, read by any.

    The lock guards the state against readers that ask for a snapshot. With `fenced` the leader writes in transactions
    with the one id of the cluster (KIP-618), so that a former leader that does not know of its successor can write
    nothing more.
    """

    def __init__(
        self, make_log: MakeLog, listener: ConfigListener, *, fenced: bool = False, seals: RecordSeals | None = None
    ) -> None:
        """Make the log. Without `seals` configurations are written in plain text, as Java writes them."""
        self._listener = listener
        self._fenced = fenced
        self._seals = seals or RecordSeals()
        self._opening = ConfigOpening(self._seals)
        self._claim = Claim.NONE
        self._lock = threading.Lock()
        self._state = ConfigState()
        self._snapshot: ConfigSnapshot | None = None
        self._caught_up = False
        self._skipped = SkippedRecords("config")
        self._opened = OpenedLog("config", make_log, self._on_record)

    def start(self, deadline: Deadline) -> None:
        """Read the topic to its end. The log's errors, after which it may be started again.

        ConnectError: configurations in it are sealed by a key that this worker lacks.
        """
        self.close()
        self._state, self._snapshot, self._claim = ConfigState(), None, Claim.NONE
        self._opening = ConfigOpening(self._seals)
        self._opened.start(deadline)
        self._opening.check()
        self._caught_up = True

    def close(self) -> None:
        """Let go of the log."""
        self._opened.close()

    @property
    def snapshot(self) -> ConfigSnapshot:
        """Return the configuration as read so far."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._state.snapshot()
            return self._snapshot

    @property
    def claims(self) -> Claims:
        """Return which worker has which slots. Unlike a snapshot it costs no more with many connectors."""
        with self._lock:
            return self._state.claims()

    def changed_since(self, offset: int) -> frozenset[str] | None:
        """Return the connectors that records at this offset and behind it concerned; None: that is not known."""
        with self._lock:
            return self._state.changed_since(offset)

    def refresh(self) -> ConfigSnapshot:
        """Return the configuration after reading everything that is in the topic now."""
        self._opened.log.read_to_end(Deadline.after(WRITE_TIMEOUT_S))
        return self.snapshot

    @property
    def closed(self) -> frozenset[str]:
        """Return the connectors with a sealed record that does not open. At most older records of them are known."""
        with self._lock:
            return self._opening.closed

    @property
    def sealed_by(self) -> str:
        """Return the key that seals new records, as logs say it."""
        return self._seals.sealed_by

    def outdated(self) -> Mapping[str, Sequence[bytes]]:
        """Return keys of records that are not sealed as this worker seals, by connector; "" stands for no connector."""
        with self._lock:
            return self._opening.outdated()

    def size_bytes(self, record: ConfigRecord) -> int:
        """Return the size of a record in the topic, in bytes."""
        key, value = self._seals.seal(encode(record))
        return len(key) + len(value or b"")

    @property
    def lost_claim(self) -> bool:
        """Return True if another worker claimed to lead after this one did."""
        return self._claim is Claim.LOST

    def claim(self) -> None:
        """Take the right to write as the leader; only for a worker that has just seen that it leads."""
        if self._fenced:
            self._opened.log.claim(Deadline.after(WRITE_TIMEOUT_S))
            self._claim = Claim.HELD

    def disclaim(self) -> None:
        """Take note that this worker leads no more."""
        self._claim = Claim.NONE

    def put_connector(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, who: str = "rest"
    ) -> None:
        """Store a connector's configuration and its version in the history; `target` is its first target state."""
        # The target goes first: a worker that sees the connector must not start it before it knows.
        snapshot = self.snapshot
        first = () if target is None else (TargetRecord(name, target),)
        if target is None and name in snapshot.targets and name not in snapshot.connectors:
            # Somebody has paused a connector of this name that was already deleted, or its creation failed half-way.
            first = (TargetRecord(name, None),)
        author = Author(who, time.time_ns() // 1_000_000)
        self._write([*first, ConnectorRecord(name, config), *added(name, snapshot, config, author)])

    def remove_connector(self, name: str) -> None:
        """Delete a connector, its target state and its history."""
        self._write([ConnectorRecord(name, None), TargetRecord(name, None), *removed(name, self.snapshot)])

    def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Replace a connector's tasks at once: nobody sees some of the new ones without the others."""
        tasks, commit = (
            [TaskRecord(TaskId(name, i), c) for i, c in enumerate(configs)],
            CommitRecord(name, len(configs)),
        )
        if self._fenced or not self.snapshot.tasks.get(name):
            # A transaction has all or none; and a connector without tasks loses none if one of the records is refused.
            self._write([*tasks, commit])
            return
        if tasks:
            self._write(tasks)
        self._write([commit])

    def put_target(self, name: str, target: TargetState) -> None:
        """Store the target state of a connector. STOPPED also removes its tasks."""
        tasks = (CommitRecord(name, 0),) if target is TargetState.STOPPED else ()
        self._write([*tasks, TargetRecord(name, target)])

    def put(self, *records: ConfigRecord) -> None:
        """Write records in order."""
        self._write(records)

    def _write(self, records: Sequence[ConfigRecord]) -> None:
        # Each write has all of the time: with less the caller would hear of a failure while the record still waits.
        deadline = Deadline.after(WRITE_TIMEOUT_S)
        encoded = [self._seals.seal(encode(record)) for record in records]
        self._refuse_unread(encoded)
        as_leader = self._fenced and not all(isinstance(record, _ANYONES) for record in records)
        try:
            if as_leader:
                log, read_back = self._log_of_leader(), self._opened.log.read_to_end
            else:
                log, read_back = self._opened.log, self._opened.log.read_back
            log.put_all(encoded, transactional=as_leader).result(deadline.remaining_s)
        except TimeoutError as error:
            took = f"the brokers did not take it within {WRITE_TIMEOUT_S:g} s."
            raise RetriableError(f"{NOT_WRITTEN}: {took}") from error
        except FencedError as error:
            self._claim = Claim.LOST
            raise ConnectError(f"{NOT_WRITTEN}: {error}") from error
        except RetriableError as error:
            raise RetriableError(f"{NOT_WRITTEN}: {error}") from error
        read_back(deadline)

    def _refuse_unread(self, records: Sequence[KeyedBytes]) -> None:
        """Raise ConnectError if a record would replace a configuration that this worker cannot read."""
        for name in {connector_of(record.key.decode()) for record in records if record.value is not None}:
            with self._lock:
                why = self._opening.lacks_key(name)
            if why is not None:
                raise ConnectError(f"Nothing of connector {name} was written: of its present configuration {why}.")

    def _log_of_leader(self) -> RecordLog:
        if self._claim is Claim.LOST:
            raise ConnectError(f"{NOT_WRITTEN}: another worker leads, or did a moment ago.")
        if self._claim is Claim.NONE:
            self.claim()  # a request may come before the herder has begun to lead
        return self._opened.log

    def _on_record(self, key: bytes | None, value: bytes | None, partition: int, offset: int, _ms: int) -> None:
        record = None
        with self._lock:
            try:
                record = self._opening.take(key, value)
            except RecordFormatError as error:
                self._skipped.add(key, partition, offset, str(error))
            self._state.advance(offset)
            if record is not None:
                self._state.apply(record)
            self._snapshot = None
        if self._caught_up and record is not None:
            self._tell(record)

    def _tell(self, record: ConfigRecord) -> None:
        match record:
            case RestartRecord():
                self._listener.restart_requested(record)
            case LoggerRecord():
                self._listener.log_level_requested(record)
            case ConfigHistoryRecord():
                pass  # nothing has to be done anew because of it
            case _:
                self._listener.config_changed()
