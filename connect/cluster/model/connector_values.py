"""Connectors as requests and answers speak of them. Values only, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from connect.runtime.task.task_id import TaskId


class TargetState(StrEnum):
    """Says what a connector should be; the text is `state.v2` of the config topic."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """Holds a connector as REST shows it; `config` is raw and always holds `name`. `type`: source, sink or unknown.

    `target`: what somebody asked it to be, whatever its tasks do now.
    """

    name: str
    config: Mapping[str, str]
    tasks: Sequence[TaskId]
    type: str
    target: TargetState


@dataclass(frozen=True, slots=True)
class Saved:
    """Holds the outcome of storing a configuration."""

    created: bool
    info: ConnectorInfo
    offsets_whole: bool | None = None
    """True when initial offsets were set, and they are all it has; False: not known. None: none were given."""


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """Says where a connector stands in one partition of its source or topic.

    `offset` None: nothing is stored, or it is to be forgotten.

    A sink's maps are `{"kafka_topic", "kafka_partition"}` and `{"kafka_offset"}`.
    """

    partition: Mapping[str, object]
    offset: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """Holds what a configuration would lead to: its tasks' configurations, and topics it names that do not exist."""

    tasks: Sequence[Mapping[str, str]]
    new_topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Checked:
    """Holds what a connector found in its configuration: messages by key, none if all is well, and notes.

    A note tells what works in part alone.
    """

    problems: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()
