"""Encodes and decodes the records of the status topic, to the exact bytes. No I/O, no state.

Source: org.apache.kafka.connect.storage.KafkaStatusBackingStore (Kafka 4.1). `history-` and `told-alert-` records are
ours; a Java worker skips them as keys it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from connect.cluster.model.config_records import LONGEST_NUMBER, parse_task_id
from connect.cluster.model.history import Rebalance, StateChange
from connect.cluster.model.record_json import (
    KeyedBytes,
    RecordFormatError,
    json_object,
    key_text,
    keyed,
    member,
    moment_ms,
)
from connect.cluster.model.statuses import Status
from connect.runtime.task.condition import Condition
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

_CONNECTOR: Final = "status-connector-"
_TASK: Final = "status-task-"
_TOPIC: Final = "status-topic-"
_HISTORY: Final = "history-state-"
_REBALANCE: Final = "history-rebalance-"
_ALERT: Final = "told-alert-"
_ITSELF: Final = "connector"
_CONDITION: Final = "condition"
"""A status has this member in addition to Kafka Connect's; a Java worker ignores it."""
_TOPIC_CONNECTOR: Final = ":connector-"  # a topic's name cannot hold a colon


@dataclass(frozen=True, slots=True)
class ConnectorStatusRecord:
    """Holds a connector's status; None deletes it."""

    name: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class TaskStatusRecord:
    """Holds a task's status; None deletes it."""

    task: TaskId
    status: Status | None


@dataclass(frozen=True, slots=True)
class TopicUse:
    """Tells which task used a topic first, and when."""

    task: int
    discovered_ms: int


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """Holds a topic that a connector uses; None deletes it."""

    connector: str
    topic: str
    use: TopicUse | None


@dataclass(frozen=True, slots=True)
class StateHistoryRecord:
    """Holds a change of state of a task, or of a connector (`task` None), at a place of its ring; None deletes it."""

    name: str
    task: int | None
    slot: int
    change: StateChange | None


@dataclass(frozen=True, slots=True)
class RebalanceRecord:
    """Holds a rebalance, at a place of the ring of rebalances."""

    slot: int
    rebalance: Rebalance


@dataclass(frozen=True, slots=True)
class ToldAlertRecord:
    """Holds what the leader remembers of an alert that was told; None deletes it."""

    key: str
    members: Mapping[str, Any] | None


StatusRecord = (
    ConnectorStatusRecord | TaskStatusRecord | TopicRecord | StateHistoryRecord | RebalanceRecord | ToldAlertRecord
)


def encode(record: StatusRecord) -> KeyedBytes:
    """Return the bytes of a record."""
    match record:
        case ConnectorStatusRecord(name, status):
            return keyed(_CONNECTOR + name, None if status is None else _status_members(status))
        case TaskStatusRecord(task, status):
            return keyed(_TASK + str(task), None if status is None else _status_members(status))
        case TopicRecord(connector, topic, use):
            return keyed(_TOPIC + topic + _TOPIC_CONNECTOR + connector, _topic_members(connector, topic, use))
        case StateHistoryRecord(name, task, slot, change):
            key = f"{_HISTORY}{name}-{_ITSELF if task is None else task}-{slot}"
            return keyed(key, None if change is None else _change_members(change))
        case RebalanceRecord(slot, rebalance):
            return keyed(f"{_REBALANCE}{slot}", _rebalance_members(rebalance))
        case ToldAlertRecord(alert, members):
            return keyed(_ALERT + alert, members)


def decode(key: bytes | None, value: bytes | None) -> StatusRecord:
    """Return the record of these bytes. RecordFormatError: they are no record of the status topic."""
    text = key_text(key)
    if text.startswith(_CONNECTOR):
        return ConnectorStatusRecord(text.removeprefix(_CONNECTOR), _status(value))
    if text.startswith(_TASK):
        return TaskStatusRecord(parse_task_id(text.removeprefix(_TASK)), _status(value))
    if text.startswith(_TOPIC):
        return _topic(text.removeprefix(_TOPIC), value)
    if text.startswith(_HISTORY):
        return _change(text.removeprefix(_HISTORY), value)
    if text.startswith(_REBALANCE):
        return _rebalance(text.removeprefix(_REBALANCE), value)
    if text.startswith(_ALERT):
        return ToldAlertRecord(text.removeprefix(_ALERT), None if value is None else json_object(value))
    raise RecordFormatError("unknown kind of key")


def _status_members(status: Status) -> Mapping[str, object]:
    return {
        "state": status.state.value,
        "trace": status.trace,
        "worker_id": status.worker_id,
        "generation": status.generation,
        "version": status.version,
        **({} if status.condition is None else {_CONDITION: asdict(status.condition)}),
    }


def _topic_members(connector: str, topic: str, use: TopicUse | None) -> Mapping[str, object] | None:
    if use is None:
        return None
    return {"topic": {"name": topic, "connector": connector, "task": use.task, "discoverTimestamp": use.discovered_ms}}


def _status(value: bytes | None) -> Status | None:
    if value is None:
        return None
    members = json_object(value)
    text = member(members, "state", str)
    if text not in State.__members__:
        raise RecordFormatError(f"unknown state {text!r}")
    return Status(
        state=State(text),
        worker_id=member(members, "worker_id", str),
        trace=_optional_text(members, "trace"),
        generation=member(members, "generation", int),
        version=_optional_text(members, "version"),
        condition=_condition(members.get(_CONDITION)),
    )


def _condition(members: Mapping[str, Any] | None) -> Condition | None:
    if not isinstance(members, Mapping):
        return None
    return Condition(
        reason=member(members, "reason", str),
        since_ms=moment_ms(members, "since_ms"),
        waiting_for=member(members, "waiting_for", str),
        retrying_since_ms=_optional_moment_ms(members, "retrying_since_ms"),
        next_attempt_ms=_optional_moment_ms(members, "next_attempt_ms"),
    )


def _optional_moment_ms(members: Mapping[str, Any], name: str) -> int | None:
    return None if members.get(name) is None else moment_ms(members, name)


def _optional_text(members: Mapping[str, Any], name: str) -> str | None:
    return None if members.get(name) is None else member(members, name, str)


def _topic(text: str, value: bytes | None) -> TopicRecord:
    topic, separator, connector = text.partition(_TOPIC_CONNECTOR)
    if not separator:
        raise RecordFormatError("key does not name a connector")
    if value is None:
        return TopicRecord(connector, topic, None)
    members = member(json_object(value), "topic", dict)
    use = TopicUse(member(members, "task", int), moment_ms(members, "discoverTimestamp"))
    return TopicRecord(connector, topic, use)


def _change_members(change: StateChange) -> Mapping[str, object]:
    return {**_status_members(change.status), "number": change.number, "changed_ms": change.changed_ms}


def _change(text: str, value: bytes | None) -> StateHistoryRecord:
    whose, slot = parse_task_id(text)
    if whose.endswith(f"-{_ITSELF}"):
        name, task = whose.removesuffix(f"-{_ITSELF}"), None
    else:
        name, task = parse_task_id(whose)
    status = _status(value)
    if value is None or status is None:
        return StateHistoryRecord(name, task, slot, None)
    members = json_object(value)
    change = StateChange(member(members, "number", int), task, status, moment_ms(members, "changed_ms"))
    return StateHistoryRecord(name, task, slot, change)


def _rebalance_members(rebalance: Rebalance) -> Mapping[str, object]:
    return {
        "number": rebalance.number,
        "generation": rebalance.generation,
        "leader": rebalance.leader,
        "workers": list(rebalance.workers),
        "changed_ms": rebalance.changed_ms,
    }


def _rebalance(text: str, value: bytes | None) -> RebalanceRecord:
    if value is None or not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
        raise RecordFormatError("a rebalance without a value, or without a number in its key")
    members = json_object(value)
    rebalance = Rebalance(
        number=member(members, "number", int),
        generation=member(members, "generation", int),
        leader=member(members, "leader", str),
        workers=tuple(str(worker) for worker in member(members, "workers", list)),
        changed_ms=moment_ms(members, "changed_ms"),
    )
    return RebalanceRecord(int(text), rebalance)
