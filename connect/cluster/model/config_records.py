"""Encodes and decodes the records of the config topic, to the exact bytes. No I/O, no state.

Source: org.apache.kafka.connect.storage.KafkaConfigBackingStore (Kafka 4.1). `placement-`, `worker-` and `history-`
records are ours; a Java worker skips them as keys it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.history import Author, ConfigVersion
from connect.cluster.model.record_json import (
    KeyedBytes,
    RecordFormatError,
    json_object,
    key_text,
    keyed,
    member,
    moment_ms,
)
from connect.runtime.task.task_id import MOST_TASKS, TaskId

SESSION_KEY: Final = "session-key"
LONGEST_NUMBER: Final = 10
"""A number in a key has at most as many digits as Java's largest int."""


@dataclass(frozen=True, slots=True)
class ConnectorRecord:
    """Holds a connector's configuration; with `properties` None it deletes the connector."""

    name: str
    properties: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """Holds a task's configuration, which takes effect with the next CommitRecord of its connector.

    With `properties` None it deletes a task that its connector no longer has.
    """

    task: TaskId
    properties: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """Says that the connector has exactly `tasks` tasks, whose records came before."""

    name: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TargetRecord:
    """Holds the target state of a connector; None deletes it."""

    name: str
    target: TargetState | None


@dataclass(frozen=True, slots=True)
class FencingRecord:
    """Says that the producers of this many tasks of an exactly-once source have been fenced."""

    name: str
    tasks: int


@dataclass(frozen=True, slots=True)
class RestartRecord:
    """Says that somebody asked for the restart of a connector."""

    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class LoggerRecord:
    """Holds a log level for every worker."""

    logger: str
    level: str


@dataclass(frozen=True, slots=True, repr=False)
class SessionKeyRecord:
    """Holds the key that signs requests between workers; `key` is base64 and secret."""

    key: str
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class PlacementRecord:
    """Holds the slots of a connector's tasks, by task number; a task with None has no slot, so nobody may run it."""

    name: str
    slots: Sequence[int | None] | None


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """Holds a worker's slots and its URL. A later record of another worker takes away the slots that it names."""

    worker_id: str
    url: str
    slots: Sequence[int]
    process: int = 0
    """This is the time in ns at which the process of the worker began; 0: a former release did not tell it."""
    in_transactions: bool = False
    """It is true if every source writes in transactions on this worker (exactly.once.source.support=enabled)."""


@dataclass(frozen=True, slots=True)
class ConfigHistoryRecord:
    """Holds a version of a connector's configuration; None deletes it."""

    name: str
    number: int
    version: ConfigVersion | None


ConfigRecord = (
    ConnectorRecord
    | TaskRecord
    | CommitRecord
    | TargetRecord
    | FencingRecord
    | RestartRecord
    | LoggerRecord
    | SessionKeyRecord
    | PlacementRecord
    | WorkerRecord
    | ConfigHistoryRecord
)


def encode(record: ConfigRecord) -> KeyedBytes:  # noqa: C901 - one case per kind of record
    """Return the bytes of a record."""
    match record:
        case ConnectorRecord(name, properties):
            return keyed(f"connector-{name}", None if properties is None else {"properties": dict(properties)})
        case TaskRecord(task, properties):
            return keyed(f"task-{task}", None if properties is None else {"properties": dict(properties)})
        case CommitRecord(name, tasks):
            return keyed(f"commit-{name}", {"tasks": tasks})
        case TargetRecord(name, target):
            return keyed(f"target-state-{name}", None if target is None else _target_members(target))
        case FencingRecord(name, tasks):
            return keyed(f"tasks-fencing-{name}", {"task-count": tasks})
        case RestartRecord(name, include_tasks, only_failed):
            members = {"include-tasks": include_tasks, "only-failed": only_failed}
            return keyed(f"restart-connector-{name}", members)
        case LoggerRecord(logger, level):
            return keyed(f"logger-cluster-{logger}", {"level": level})
        case SessionKeyRecord(key, algorithm, created_ms):
            return keyed(SESSION_KEY, {"key": key, "algorithm": algorithm, "creation-timestamp": created_ms})
        case PlacementRecord(name, slots):
            return keyed(f"placement-{name}", None if slots is None else {"slots": list(slots)})
        case WorkerRecord(worker_id, url, slots, process, in_transactions):
            told: dict[str, object] = {"process": process} if process else {}
            told |= {"transactions": True} if in_transactions else {}
            return keyed(f"worker-{worker_id}", {"url": url, "slots": list(slots), **told})
        case ConfigHistoryRecord(name, number, version):
            return keyed(f"history-config-{name}-{number}", None if version is None else _version_members(version))


def decode(key: bytes | None, value: bytes | None) -> ConfigRecord:
    """Return the record of these bytes. RecordFormatError: they are no record of the config topic."""
    text = key_text(key)
    if text == SESSION_KEY:
        return _session_key("", value)
    for prefix, read in _READERS.items():
        if text.startswith(prefix):
            return read(text.removeprefix(prefix), value)
    raise RecordFormatError("unknown kind of key")


def _target_members(target: TargetState) -> Mapping[str, object]:
    # Workers older than 3.5 read only `state` and know no STOPPED.
    old = TargetState.PAUSED if target is TargetState.STOPPED else target
    return {"state": old.value, "state.v2": target.value}


def _version_members(version: ConfigVersion) -> Mapping[str, object]:
    author = {} if version.author is None else {"who": version.author.who, "changed_ms": version.author.changed_ms}
    return {"properties": dict(version.config), **author}


def _present(value: bytes | None) -> Mapping[str, Any]:
    if value is None:
        raise RecordFormatError("unexpected tombstone")
    return json_object(value)


def _properties(members: Mapping[str, Any]) -> Mapping[str, str]:
    properties = member(members, "properties", dict)
    for key, value in properties.items():
        if value is not None and not isinstance(value, str):
            raise RecordFormatError(f"property {key!r} is a {type(value).__name__}, not a string")
    return {k: v for k, v in properties.items() if v is not None}


def _connector(name: str, value: bytes | None) -> ConnectorRecord:
    return ConnectorRecord(name, None if value is None else _properties(json_object(value)))


def _task(name: str, value: bytes | None) -> TaskRecord:
    return TaskRecord(parse_task_id(name), None if value is None else _properties(json_object(value)))


def connector_of(key: str) -> str:
    """Return the connector whose configuration the record of this key holds; empty if it holds none."""
    for prefix in ("task-", "history-config-"):
        if key.startswith(prefix):
            return key.removeprefix(prefix).rpartition("-")[0]
    return key.removeprefix("connector-") if key.startswith("connector-") else ""


def parse_task_id(text: str) -> TaskId:
    """Return the task that a text such as `name-0` names; the name itself may hold `-`. RecordFormatError."""
    connector, dash, number = text.rpartition("-")
    if not dash or not connector or not (number.isascii() and number.isdigit()) or len(number) > LONGEST_NUMBER:
        raise RecordFormatError("key does not end in -<task number>")
    return TaskId(connector, int(number))


def _commit(name: str, value: bytes | None) -> CommitRecord:
    return CommitRecord(name, member(_present(value), "tasks", int))


def _target(name: str, value: bytes | None) -> TargetRecord:
    if value is None:
        return TargetRecord(name, None)
    members = json_object(value)
    text = member(members, "state.v2" if members.get("state.v2") is not None else "state", str)
    if text not in TargetState.__members__:
        raise RecordFormatError(f"unknown target state {text!r}")
    return TargetRecord(name, TargetState(text))


def _fencing(name: str, value: bytes | None) -> FencingRecord:
    tasks = member(_present(value), "task-count", int)
    if not 0 <= tasks <= MOST_TASKS:
        raise RecordFormatError(f"{tasks} tasks, where a connector has {MOST_TASKS} at most")
    return FencingRecord(name, tasks)


def _restart(name: str, value: bytes | None) -> RestartRecord:
    members = _present(value)
    return RestartRecord(name, member(members, "include-tasks", bool), member(members, "only-failed", bool))


def _logger(name: str, value: bytes | None) -> LoggerRecord:
    return LoggerRecord(name, member(_present(value), "level", str))


def _session_key(_: str, value: bytes | None) -> SessionKeyRecord:
    members = _present(value)
    created_ms = member(members, "creation-timestamp", int)
    return SessionKeyRecord(member(members, "key", str), member(members, "algorithm", str), created_ms)


def _placement(name: str, value: bytes | None) -> PlacementRecord:
    if value is None:
        return PlacementRecord(name, None)
    slots = member(json_object(value), "slots", list)
    if not all(s is None or _is_slot(s) for s in slots):
        raise RecordFormatError("a slot is neither a number from 0 on nor null")
    return PlacementRecord(name, tuple(slots))


def _worker(worker_id: str, value: bytes | None) -> WorkerRecord:
    members = _present(value)
    slots = member(members, "slots", list)
    if not all(map(_is_slot, slots)):
        raise RecordFormatError("a slot is not a number from 0 on")
    process = member(members, "process", int) if "process" in members else 0
    in_transactions = members.get("transactions") is True
    return WorkerRecord(worker_id, member(members, "url", str), tuple(slots), process, in_transactions)


def _is_slot(value: object) -> bool:
    return type(value) is int and value >= 0


def _history(text: str, value: bytes | None) -> ConfigHistoryRecord:
    name, number = parse_task_id(text)
    if value is None:
        return ConfigHistoryRecord(name, number, None)
    members = json_object(value)
    author = None
    if "who" in members:
        author = Author(member(members, "who", str), moment_ms(members, "changed_ms"))
    return ConfigHistoryRecord(name, number, ConfigVersion(number, _properties(members), author))


# Java looks for target-state- first, then connector-, task-, commit-.
_READERS: Final[Mapping[str, Callable[[str, bytes | None], ConfigRecord]]] = {
    "target-state-": _target,
    "connector-": _connector,
    "task-": _task,
    "commit-": _commit,
    "tasks-fencing-": _fencing,
    "restart-connector-": _restart,
    "logger-cluster-": _logger,
    "placement-": _placement,
    "worker-": _worker,
    "history-config-": _history,
}
