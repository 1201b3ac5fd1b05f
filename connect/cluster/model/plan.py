"""Decides the next steps by which this worker comes to run exactly the tasks it should. Pure: no I/O, no clock.

A restart, pause, delete, config change or rebalance is just another desired or assigned state for `plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from connect.runtime.task.task_id import TaskId


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Says how a task should run. A restart is a spec with a higher `attempt`."""

    kind: Literal["source", "sink"]
    connector_config: Mapping[str, str]
    task_config: Mapping[str, str]
    attempt: int = 0
    paused: bool = False
    publication: int = 0
    """This is the publication of the tasks that the run belongs to."""

    def is_run_of(self, other: TaskSpec) -> bool:
        """Return True if a run of `other` need not be replaced for this spec, but at most paused or resumed."""
        # Compared as a tuple, the same object is equal at once: a look at all tasks finds nearly always the same ones.
        own = (self.publication, self.kind, self.connector_config, self.task_config, self.attempt)
        return own == (other.publication, other.kind, other.connector_config, other.task_config, other.attempt)


class Phase(Enum):
    """The phase that a run of a task is in."""

    LIVE = "live"
    STOPPING = "stopping"
    FAILED = "failed"
    """The run has ended by itself."""


@dataclass(frozen=True, slots=True)
class Run:
    """Describes one run of a task on this worker."""

    number: int
    spec: TaskSpec
    phase: Phase = Phase.LIVE


@dataclass(frozen=True, slots=True)
class Start:
    """Tells to run the task; a failed run of it is forgotten."""

    task: TaskId
    spec: TaskSpec


@dataclass(frozen=True, slots=True)
class Stop:
    """Tells to end a live run."""

    task: TaskId
    run: Run


@dataclass(frozen=True, slots=True)
class SetPaused:
    """Tells to pause or resume a live run."""

    task: TaskId
    run: Run
    paused: bool


@dataclass(frozen=True, slots=True)
class Forget:
    """Tells to forget a failed run, as the task should not run here any more."""

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
