"""Keeps the status topic as this worker has read it, and writes to it.

Source of the rules: org.apache.kafka.connect.storage.KafkaStatusBackingStore (Kafka 4.1).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, TypeVar

from connect.cluster.model.history import Rebalance, StateChange
from connect.cluster.model.recent_changes import RecentChanges
from connect.cluster.model.record_json import RecordFormatError
from connect.cluster.model.state_history import StateHistory
from connect.cluster.model.status_records import (
    ConnectorStatusRecord,
    RebalanceRecord,
    StateHistoryRecord,
    StatusRecord,
    TaskStatusRecord,
    ToldAlertRecord,
    TopicRecord,
    TopicUse,
    decode,
    encode,
)
from connect.cluster.model.statuses import Status
from connect.cluster.store.record_log import MakeLog, OpenedLog
from connect.cluster.store.skipped_records import SkippedRecords
from connect.lib.deadline import Deadline
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

READ_TIMEOUT_S: Final = 30.0

_K = TypeVar("_K")
_V = TypeVar("_V")
_logger = logging.getLogger(__name__)


def may_replace(new: Status, known: Status | None) -> bool:
    """Return True if a status may be written over another one.

    Generations tell when a worker last claimed slots, not which of two owners of a task is the later one. So over
    another worker's status a worker may write UNASSIGNED only if that is UNASSIGNED too, and FAILED only if the other
    worker has let go of the task or has no later generation.
    """
    if known is None or known.worker_id == new.worker_id:
        return True
    match new.state:
        case State.UNASSIGNED:
            return known.state is State.UNASSIGNED
        case State.FAILED:
            return known.state is State.UNASSIGNED or known.generation <= new.generation
        case _:
            return True


def overrides(read: Status | None, known: Status | None) -> bool:
    """Tell if a status just read counts: a late UNASSIGNED of an old owner does not replace the new owner's status."""
    return read is None or read.state is not State.UNASSIGNED or may_replace(read, known)


class SeenOfWorker(NamedTuple):
    """Says which tasks readers of the topic find with a worker, and which of its statuses they do not find."""

    held: Mapping[TaskId, None]
    overruled: Sequence[TaskId]
    """Readers find, now or later, another status of each of these tasks than the worker has said."""


def _says(known: Status | None, said: Status) -> bool:
    return known is said or (known is not None and (known.state, known.worker_id) == (said.state, said.worker_id))


class StatusStore:
    """Keeps the status topic as read, and writes to it. Fed by the log's thread, read and written by any."""

    def __init__(self, make_log: MakeLog) -> None:
        self._lock = threading.Lock()
        self._connectors: dict[str, Status] = {}
        self._tasks: dict[str, dict[int, Status]] = {}
        self._topics: dict[str, dict[str, TopicUse]] = {}
        self._disputed: set[TaskId] = set()
        """The last status in the topic of each of these tasks does not count."""
        self._history = StateHistory()
        self._told_alerts: dict[str, Mapping[str, Any]] = {}
        self.changes = 0
        """This counts the records that were read; as long as it is the same, no status has changed."""
        self.recent = RecentChanges()
        """It has the connectors whose statuses were read last, each at what `changes` was then."""
        self._skipped = SkippedRecords("status")
        self._opened = OpenedLog("status", make_log, self._on_record)

    def start(self, deadline: Deadline) -> None:
        """Read the topic to its end. The log's errors, after which it may be started again."""
        self.close()
        self._opened.start(deadline)

    def close(self) -> None:
        """Write the queued records and close the log."""
        self._opened.close()

    def refresh(self) -> None:
        """Read the topic to its present end, so that this worker knows all that others have seen. The log's errors."""
        self._opened.log.read_to_end(Deadline.after(READ_TIMEOUT_S))

    def connector(self, name: str) -> Status | None:
        """Return a connector's last status."""
        return self._connectors.get(name)

    def tasks(self, name: str) -> Mapping[int, Status]:
        """Return the last status of each task of a connector, sorted by task."""
        with self._lock:
            return dict(sorted(self._tasks.get(name, {}).items()))

    def seen_of(
        self, worker_id: str, said: Mapping[TaskId, Status], only: Collection[str] | None = None
    ) -> SeenOfWorker:
        """Return what readers of the topic find of the tasks of a worker that has `said` these statuses.

        `only`: it tells of these connectors alone.
        """
        nothing: Mapping[int, Status] = {}
        with self._lock:
            held = {
                TaskId(name, number): None
                for name in (self._tasks if only is None else only)
                for number, status in self._tasks.get(name, nothing).items()
                if status.worker_id == worker_id and status.state is not State.UNASSIGNED
            }
            overruled = [
                task
                for task, status in said.items()
                if task in self._disputed or not _says(self._tasks.get(task.connector, nothing).get(task.task), status)
            ]
            return SeenOfWorker(held, overruled)

    def names(self) -> frozenset[str]:
        """Return every connector with a status, a history or used topics."""
        with self._lock:
            return (
                frozenset(self._connectors) | frozenset(self._tasks) | frozenset(self._topics) | self._history.names()
            )

    def topics(self, name: str) -> Mapping[str, TopicUse]:
        """Return the topics that a connector used."""
        with self._lock:
            return dict(self._topics.get(name, {}))

    def state_changes(self, name: str) -> Sequence[StateChange]:
        """Return the last changes of state of a connector and its tasks, oldest first."""
        with self._lock:
            return self._history.changes(name)

    def rebalances(self) -> Sequence[Rebalance]:
        """Return the last rebalances, oldest first."""
        with self._lock:
            return self._history.rebalances()

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what is remembered of alerts, by their keys."""
        with self._lock:
            return dict(self._told_alerts)

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        """Remember an alert that was told; None forgets it."""
        self._send(ToldAlertRecord(key, members))

    def put_connector(self, name: str, status: Status) -> None:
        """Report a connector's status, if `may_replace` lets it."""
        if may_replace(status, self.connector(name)):
            self._send(ConnectorStatusRecord(name, status))
            self._note(name, None, status)

    def put_task(self, task: TaskId, status: Status) -> None:
        """Report a task's status, if `may_replace` lets it."""
        known = self._tasks.get(task.connector, {}).get(task.task)
        if may_replace(status, known):
            self._send(TaskStatusRecord(task, status))
            self._note(task.connector, task.task, status)

    def put_rebalance(self, generation: int, leader: str, workers: Collection[str]) -> None:
        """Store the present workers, unless they are those that were stored last. Only the leader calls it."""
        with self._lock:
            record = self._history.rebalanced(generation, leader, tuple(sorted(workers)), _now_ms())
        if record is not None:
            self._send(record)

    def forget_task(self, task: TaskId) -> None:
        """Remove a task's status."""
        self._send(TaskStatusRecord(task, None))

    def forget(self, name: str) -> None:
        """Remove all statuses of a connector, their history and the topics it used."""
        for number in self.tasks(name):
            self._send(TaskStatusRecord(TaskId(name, number), None))
        for topic in self.topics(name):
            self._send(TopicRecord(name, topic, None))
        if self.connector(name) is not None:
            self._send(ConnectorStatusRecord(name, None))
        with self._lock:
            history = self._history.forgotten(name)
        for record in history:
            self._send(record)

    def use_topic(self, task: TaskId, topic: str) -> None:
        """Remember that a connector uses a topic."""
        if topic not in self._topics.get(task.connector, {}):
            self._send(TopicRecord(task.connector, topic, TopicUse(task.task, _now_ms())))

    def write_again(self) -> None:
        """Write all known records into a topic that was created anew."""
        with self._lock:
            records: list[StatusRecord] = [ConnectorStatusRecord(*known) for known in self._connectors.items()]
            for name, tasks in self._tasks.items():
                records += [TaskStatusRecord(TaskId(name, number), status) for number, status in tasks.items()]
            for name, topics in self._topics.items():
                records += [TopicRecord(name, topic, use) for topic, use in topics.items()]
            records += [ToldAlertRecord(*told) for told in self._told_alerts.items()]
            records += self._history.records()
        for record in records:
            self._send(record)

    def reset_topics(self, name: str, deadline: Deadline) -> None:
        """Forget the topics a connector used. The log's errors."""
        for written in [self._send(TopicRecord(name, topic, None)) for topic in self.topics(name)]:
            written.result(deadline.remaining_s)
        self._opened.log.read_to_end(deadline)

    def _note(self, name: str, task: int | None, status: Status) -> None:
        with self._lock:
            record = self._history.changed(name, task, status, _now_ms())
        if record is not None:
            self._send(record)

    def _send(self, record: StatusRecord) -> Future[None]:
        written = self._opened.log.put(*encode(record))
        written.add_done_callback(lambda future: _report(record, future))
        return written

    def _on_record(self, key: bytes | None, value: bytes | None, partition: int, offset: int, _ms: int) -> None:
        try:
            record = decode(key, value)
        except RecordFormatError as error:
            self._skipped.add(key, partition, offset, str(error))
            return
        with self._lock:
            self._apply(record)
            match record:
                case ConnectorStatusRecord(name, _) | TaskStatusRecord(TaskId(name, _), _):
                    self.recent.add(self.changes, name)
                case _:
                    pass  # nothing has to be done because of it
            self.changes += 1

    def _apply(self, record: StatusRecord) -> None:
        match record:
            case ConnectorStatusRecord(name, status):
                if overrides(status, self._connectors.get(name)):
                    _set(self._connectors, name, status)
            case TaskStatusRecord(task, status):
                tasks = self._tasks.setdefault(task.connector, {})
                if overrides(status, tasks.get(task.task)):
                    _set(tasks, task.task, status)
                    self._disputed.discard(task)
                else:
                    self._disputed.add(task)
                if not tasks:
                    del self._tasks[task.connector]
            case TopicRecord(connector, topic, use):
                topics = self._topics.setdefault(connector, {})
                _set(topics, topic, use)
                if not topics:
                    del self._topics[connector]
            case ToldAlertRecord(key, members):
                _set(self._told_alerts, key, members)
            case StateHistoryRecord() | RebalanceRecord():
                self._history.apply(record)


def _set(members: dict[_K, _V], key: _K, value: _V | None) -> None:
    if value is None:
        members.pop(key, None)
    else:
        members[key] = value


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _report(record: StatusRecord, written: Future[None]) -> None:
    error = None if written.cancelled() else written.exception()
    if error is not None:
        _logger.error(
            "status_not_written",
            extra={"record": type(record).__name__, "key": encode(record).key.decode(), "error": str(error)},
        )
