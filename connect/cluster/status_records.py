"""The records of the status topic: values <-> exact bytes. No I/O, no state.

Source: org.apache.kafka.connect.storage.KafkaStatusBackingStore (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect.cluster.config_records import KeyedBytes, parse_task_id
from connect.cluster.operations import Status
from connect.cluster.record_json import RecordFormatError, compact_json, json_object, member
from connect.runtime.messages import State, TaskId

_CONNECTOR: Final = "status-connector-"
_TASK: Final = "status-task-"
_TOPIC: Final = "status-topic-"
_TOPIC_CONNECTOR: Final = ":connector-"  # a topic's name cannot hold a colon


@dataclass(frozen=True, slots=True)
class ConnectorStatusRecord:
    """A connector's status; None forgets it."""

    name: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class TaskStatusRecord:
    """A task's status; None forgets it."""

    task: TaskId
    status: Status | None


@dataclass(frozen=True, slots=True)
class TopicUse:
    """The task that used a topic first, and when."""

    task: int
    discovered_ms: int


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic that a connector uses; None forgets it."""

    connector: str
    topic: str
    use: TopicUse | None


StatusRecord = ConnectorStatusRecord | TaskStatusRecord | TopicRecord


def encode(record: StatusRecord) -> KeyedBytes:
    """The bytes of a record."""
    match record:
        case ConnectorStatusRecord(name, status):
            return _keyed(_CONNECTOR + name, None if status is None else _status_members(status))
        case TaskStatusRecord(task, status):
            return _keyed(_TASK + str(task), None if status is None else _status_members(status))
        case TopicRecord(connector, topic, use):
            return _keyed(_TOPIC + topic + _TOPIC_CONNECTOR + connector, _topic_members(connector, topic, use))


def decode(key: bytes | None, value: bytes | None) -> StatusRecord:
    """The record of these bytes. RecordFormatError when they are none of ours."""
    if key is None:
        raise RecordFormatError("no key")
    try:
        text = key.decode()
    except UnicodeDecodeError as error:
        raise RecordFormatError(f"key is not UTF-8 ({error.reason})") from error
    if text.startswith(_CONNECTOR):
        return ConnectorStatusRecord(text.removeprefix(_CONNECTOR), _status(value))
    if text.startswith(_TASK):
        return TaskStatusRecord(parse_task_id(text.removeprefix(_TASK)), _status(value))
    if text.startswith(_TOPIC):
        return _topic(text.removeprefix(_TOPIC), value)
    raise RecordFormatError("unknown kind of key")


def _keyed(key: str, members: Mapping[str, object] | None) -> KeyedBytes:
    return KeyedBytes(key.encode(), None if members is None else compact_json(members))


def _status_members(status: Status) -> Mapping[str, object]:
    return {
        "state": status.state.value,
        "trace": status.trace,
        "worker_id": status.worker_id,
        "generation": status.generation,
        "version": status.version,
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
    )


def _optional_text(members: Mapping[str, Any], name: str) -> str | None:
    return None if members.get(name) is None else member(members, name, str)


def _topic(text: str, value: bytes | None) -> TopicRecord:
    topic, separator, connector = text.partition(_TOPIC_CONNECTOR)
    if not separator:
        raise RecordFormatError("key does not name a connector")
    if value is None:
        return TopicRecord(connector, topic, None)
    members = member(json_object(value), "topic", dict)
    use = TopicUse(member(members, "task", int), member(members, "discoverTimestamp", int))
    return TopicRecord(connector, topic, use)
