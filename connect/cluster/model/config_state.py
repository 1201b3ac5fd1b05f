"""Adds up the records of the config topic, in order. Pure: no I/O, no clock, no threads.

Source of the rules: org.apache.kafka.connect.storage.KafkaConfigBackingStore (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from connect.cluster.model.config_records import (
    CommitRecord,
    ConfigHistoryRecord,
    ConfigRecord,
    ConnectorRecord,
    FencingRecord,
    PlacementRecord,
    SessionKeyRecord,
    TargetRecord,
    TaskRecord,
    WorkerRecord,
)
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.history import ConfigVersion
from connect.cluster.model.recent_changes import RecentChanges
from connect.runtime.task.task_id import TaskId

Properties = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Claims:
    """Says which worker has which slots at `next_offset` of the config topic."""

    next_offset: int
    workers: Mapping[str, WorkerRecord]

    def owner(self, slot: int) -> WorkerRecord | None:
        """Return the worker that last claimed a slot."""
        return next((w for w in self.workers.values() if slot in w.slots), None)


@dataclass(frozen=True, slots=True)
class ConfigSnapshot:
    """Holds the configuration of the cluster at `next_offset` of the config topic. Never changes; share it freely."""

    next_offset: int = 0
    connectors: Mapping[str, Properties] = field(default_factory=dict)
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[int, Properties]] = field(default_factory=dict)
    """These are the committed task configurations; an inconsistent connector has none."""
    applied: Mapping[str, Properties] = field(default_factory=dict)
    """This is each connector's configuration at the time when its tasks were last committed (KAFKA-9228)."""
    committed: Mapping[str, int] = field(default_factory=dict)
    """This is the offset of the last commit of each connector's tasks."""
    published: Mapping[str, int] = field(default_factory=dict)
    """This is the offset of each connector's last commit that begins its tasks anew: after a stop, or by a change."""
    inconsistent: frozenset[str] = frozenset()
    """The last commits of these connectors lacked task records; their tasks must be published again."""
    pending: frozenset[str] = frozenset()
    """These connectors have task records behind their last commit, as whoever published them was broken off."""
    fenced_tasks: Mapping[str, int] = field(default_factory=dict)
    """This is the number of tasks in each connector's last fencing record: as many producers may be alive."""
    unfenced: frozenset[str] = frozenset()
    """The tasks of these connectors were published after the last fencing record."""
    session_key: SessionKeyRecord | None = None
    placements: Mapping[TaskId, int] = field(default_factory=dict)
    workers: Mapping[str, WorkerRecord] = field(default_factory=dict)
    """These are the workers with the slots that each holds; no slot is held by two."""
    history: Mapping[str, Mapping[int, ConfigVersion]] = field(default_factory=dict)
    """These are the recorded versions of each connector's configuration, by number."""

    def target(self, name: str) -> TargetState:
        """Return the target state of a connector."""
        return self.targets.get(name, TargetState.STARTED)

    def has_task(self, task: TaskId) -> bool:
        """Return True if the task exists."""
        return task.task in self.tasks.get(task.connector, {})


class ConfigState:
    """Adds records up to a snapshot. Owned by the thread that reads the topic."""

    def __init__(self) -> None:
        self._next_offset = 0
        self._connectors: dict[str, Properties] = {}
        self._targets: dict[str, TargetState] = {}
        self._tasks: dict[str, Mapping[int, Properties]] = {}
        self._pending: dict[str, dict[int, Properties]] = {}
        self._applied: dict[str, Properties] = {}
        self._committed: dict[str, int] = {}
        self._published: dict[str, int] = {}
        self._inconsistent: set[str] = set()
        self._fenced: dict[str, int] = {}
        self._unfenced: set[str] = set()
        self._session_key: SessionKeyRecord | None = None
        self._placements: dict[str, Sequence[int | None]] = {}
        self._placed: Mapping[TaskId, int] = {}
        """These are the slots of tasks. Snapshots share them until a placement changes."""
        self._workers: dict[str, WorkerRecord] = {}
        self._history: dict[str, Mapping[int, ConfigVersion]] = {}
        self._recent = RecentChanges()

    def changed_since(self, offset: int) -> frozenset[str] | None:
        """Return the connectors that records at this offset and behind it concerned; None: that is not known."""
        return self._recent.since(offset)

    def advance(self, offset: int) -> None:
        """Take note that the record at this offset was seen, whatever it held."""
        self._next_offset = offset + 1

    def apply(self, record: ConfigRecord) -> None:  # noqa: C901 - one case per kind of record
        """Add a record. Restarts and log levels change nothing, as they are events and not state."""
        self._note(record)
        match record:
            case ConnectorRecord(name, properties):
                self._apply_connector(name, properties)
            case TaskRecord(task, None):
                self._pending.get(task.connector, {}).pop(task.task, None)
            case TaskRecord(task, properties) if properties is not None:
                self._pending.setdefault(task.connector, {})[task.task] = properties
            case CommitRecord(name, count):
                self._commit(name, count)
            case TargetRecord(name, None):
                self._targets.pop(name, None)
            case TargetRecord(name, target) if target is not None:
                self._targets[name] = target
            case FencingRecord(name, count):
                self._fenced[name] = count
                self._unfenced.discard(name)
            case SessionKeyRecord():
                self._session_key = record
            case PlacementRecord(name, slots):
                self._apply_placement(name, slots)
            case WorkerRecord():
                self._claim(record)
            case ConfigHistoryRecord():
                self._apply_history(record)
            case _:
                pass

    def claims(self) -> Claims:
        """Return who has which slots now."""
        return Claims(self._next_offset, dict(self._workers))

    def snapshot(self) -> ConfigSnapshot:
        """Return the state now."""
        tasks = dict(self._tasks)
        for name in self._inconsistent:
            tasks.pop(name, None)
        return ConfigSnapshot(
            next_offset=self._next_offset,
            connectors=dict(self._connectors),
            targets=dict(self._targets),
            tasks=tasks,
            applied=dict(self._applied),
            committed=dict(self._committed),
            published=dict(self._published),
            inconsistent=frozenset(self._inconsistent),
            pending=frozenset(name for name, tasks in self._pending.items() if tasks and name in self._connectors),
            fenced_tasks=dict(self._fenced),
            unfenced=frozenset(self._unfenced),
            session_key=self._session_key,
            placements=self._placed,
            workers=dict(self._workers),
            history=dict(self._history),
        )

    def _note(self, record: ConfigRecord) -> None:
        if (name := _concerned(record)) is not None:
            self._recent.add(self._next_offset - 1, name)

    def _apply_connector(self, name: str, properties: Properties | None) -> None:
        if properties is not None:
            self._connectors[name] = properties
            return
        for members in (self._connectors, self._tasks, self._pending, self._applied):
            members.pop(name, None)
        for offsets in (self._committed, self._published):
            offsets.pop(name, None)
        self._inconsistent.discard(name)

    def _commit(self, name: str, count: int) -> None:
        pending = self._pending.pop(name, {})
        # Compaction may have removed an old connector record and left the commit of its tasks (KAFKA-16838).
        if name not in self._connectors:
            return
        self._unfenced.add(name)
        # Compaction keeps task records with higher numbers from a time when the connector had more tasks.
        if all(number in pending for number in range(count)):
            self._committed[name] = self._next_offset - 1
            if not self._tasks.get(name) or self._applied[name] != self._connectors[name]:
                self._published[name] = self._next_offset - 1
            self._tasks[name] = {number: pending[number] for number in range(count)}
            self._applied[name] = self._connectors[name]
            self._inconsistent.discard(name)
        else:
            self._inconsistent.add(name)

    def _apply_placement(self, name: str, slots: Sequence[int | None] | None) -> None:
        placed = dict(self._placed)  # made of the last one, as there is a record for each connector
        before = self._placements.pop(name, ())
        for number in range(len(before)):
            placed.pop(TaskId(name, number), None)
        if slots is not None:
            self._placements[name] = now = _without_jumps(before, slots)
            placed |= {TaskId(name, number): slot for number, slot in enumerate(now) if slot is not None}
        self._placed = placed

    def _apply_history(self, record: ConfigHistoryRecord) -> None:
        # A snapshot may share the present map, so the map is replaced and never changed.
        kept = {n: v for n, v in self._history.get(record.name, {}).items() if n != record.number}
        if record.version is not None:
            kept[record.number] = record.version
        if kept:
            self._history[record.name] = kept
        else:
            self._history.pop(record.name, None)

    def _claim(self, record: WorkerRecord) -> None:
        taken = frozenset(record.slots)
        for worker_id, other in tuple(self._workers.items()):
            if taken.intersection(other.slots):
                kept = tuple(s for s in other.slots if s not in taken)
                self._workers[worker_id] = replace(other, slots=kept)
        self._workers[record.worker_id] = record


def _without_jumps(before: Sequence[int | None], slots: Sequence[int | None]) -> Sequence[int | None]:
    """Return the slots of a connector's tasks without those that a task got before it had left another one.

    A leader takes a task from its slot first. So such a record is of a former leader and came late, and the task may
    run where it was: it has no slot until the present leader knows that it has stopped.
    """
    moved = {number for number, (was, now) in enumerate(zip(before, slots, strict=False)) if None not in (was, now)}
    return tuple(None if n in moved and before[n] != slot else slot for n, slot in enumerate(slots))


def _concerned(record: ConfigRecord) -> str | None:
    """Return the connector whose tasks a record may change; None: it changes no connector's."""
    match record:
        case TaskRecord(task, _):
            return task.connector
        case ConnectorRecord() | CommitRecord() | TargetRecord() | FencingRecord() | PlacementRecord():
            return record.name
        case _:
            return None
