"""What to do so that this worker runs exactly the tasks it should. Pure: no I/O, no clock, no threads.

Restart, pause, delete, config change and rebalance are only other desired or assigned states.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from connect.runtime.task.task_id import TaskId


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """How a task should run. A restart is a higher `attempt`."""

    kind: Literal["source", "sink"]
    connector_config: Mapping[str, str]
    task_config: Mapping[str, str]
    attempt: int = 0
    paused: bool = False

    def is_run_of(self, other: TaskSpec) -> bool:
        """Return True if a run of `other` serves this spec, after a pause or resume at most."""
        return self == replace(other, paused=self.paused)


class Phase(Enum):
    """Where a run stands."""

    LIVE = "live"
    STOPPING = "stopping"
    FAILED = "failed"
    """It has ended by itself and runs no more."""


@dataclass(frozen=True, slots=True)
class Run:
    """Describes one run of a task on this worker."""

    number: int
    spec: TaskSpec
    phase: Phase = Phase.LIVE


@dataclass(frozen=True, slots=True)
class Start:
    """Run the task; a failed run of it is forgotten."""

    task: TaskId
    spec: TaskSpec


@dataclass(frozen=True, slots=True)
class Stop:
    """End a live run."""

    task: TaskId
    run: Run


@dataclass(frozen=True, slots=True)
class SetPaused:
    """Pause or resume a live run."""

    task: TaskId
    run: Run
    paused: bool


@dataclass(frozen=True, slots=True)
class Forget:
    """Nobody here wants to know of this failed run any more."""

    task: TaskId
    run: Run


Action = Start | Stop | SetPaused | Forget


def plan(
    desired: Mapping[TaskId, TaskSpec], assigned: Collection[TaskId], running: Mapping[TaskId, Run]
) -> list[Action]:
    """Return the next steps. Stops come first; a task starts again only when its old run is gone."""
    wanted = {task: spec for task, spec in desired.items() if task in assigned}
    actions = [action for task, run in running.items() if (action := _reconcile(task, run, wanted.get(task)))]
    for task, spec in wanted.items():
        run = running.get(task)
        if run is None or (run.phase is Phase.FAILED and not spec.is_run_of(run.spec)):
            actions.append(Start(task, spec))
    return actions


def _reconcile(task: TaskId, run: Run, wanted: TaskSpec | None) -> Action | None:
    if run.phase is Phase.STOPPING:
        return None
    if run.phase is Phase.FAILED:
        return Forget(task, run) if wanted is None else None
    if wanted is None or not wanted.is_run_of(run.spec):
        return Stop(task, run)
    return SetPaused(task, run, wanted.paused) if wanted.paused != run.spec.paused else None
