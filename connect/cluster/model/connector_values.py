"""Values that describe connectors in requests and answers. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from connect.runtime.task.task_id import TaskId


class TargetState(StrEnum):
    """The state that somebody wants a connector to be in; its text is `state.v2` in the config topic."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """Holds a connector as REST shows it; `config` is raw and always holds `name`. `type`: source, sink or unknown.

    `target` is the state that somebody asked for, whatever its tasks do now.
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
    """True: the given initial offsets are all that it has. False: that is not known. None: none were given."""


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """Says where a connector stands in one partition of its source or topic.

    `offset` is None if none is stored, or if it should be deleted. A sink's maps are
    `{"kafka_topic", "kafka_partition"}` and `{"kafka_offset"}`.
    """

    partition: Mapping[str, object]
    offset: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """Holds the task configurations that a configuration would lead to, and its topics that do not exist."""

    tasks: Sequence[Mapping[str, str]]
    new_topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Checked:
    """Holds what a connector found in its configuration: messages by key, none if all is well, and notes.

    A note tells what works in part alone.
    """

    problems: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()
