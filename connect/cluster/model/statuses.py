"""Describes the states of connectors and tasks, and what the herder does, as values. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect.runtime.task.condition import Condition
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


@dataclass(frozen=True, slots=True)
class Status:
    """Holds the state of a connector or of a task, as the status topic holds it.

    `version` is that of the plug-in. `condition` says why no rows move; None if they do, or if nothing is known.
    """

    state: State
    worker_id: str
    trace: str | None = None
    generation: int = 0
    version: str | None = None
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """Holds a connector's state and its tasks', sorted by task."""

    name: str
    connector: Status
    tasks: Mapping[int, Status] = field(default_factory=dict)
    type: str = "unknown"


@dataclass(frozen=True, slots=True)
class OverdueTask:
    """Names a task that should run and does not. This worker saw that first at `since_ms`, in epoch milliseconds."""

    task: TaskId
    reason: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Says what the herder does now, or did last if `finished_ms` is set; times are epoch milliseconds."""

    description: str
    started_ms: int
    finished_ms: int | None = None
