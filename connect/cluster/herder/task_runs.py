"""Carries out what `plan` decides for this worker's tasks: runs them, reports their states, restarts failed ones."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Final, assert_never

from connect.api.errors import ConnectError
from connect.cluster.herder.awaited_restarts import AwaitedRestarts
from connect.cluster.herder.task_statuses import TaskStatuses
from connect.cluster.loop.herder_parts import HerderParts
from connect.cluster.loop.membership import View
from connect.cluster.model.auto_restart import RestartHistory, next_restart
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.plan import Action, Forget, Phase, Run, SetPaused, Start, Stop, TaskSpec, plan
from connect.cluster.model.start_counts import StartCounts
from connect.runtime.task.condition import failure
from connect.runtime.task.messages import AsksToWrite, StartTask, TaskBuilt, TaskCondition, TaskState, TopicsUsed
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

ISOLATION_KEY: Final = "connector.isolation"
_logger = logging.getLogger(__name__)


class TaskRuns:
    """Keeps this worker's tasks running. Owned by the herder's thread, which also hears the task hosts through it."""

    def __init__(
        self, parts: HerderParts, *, tracks_topics: bool, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._parts = parts
        self._tracks_topics = tracks_topics
        self._running: dict[TaskId, Run] = {}
        self._attempts: dict[TaskId, int] = {}
        self._histories: dict[TaskId, RestartHistory] = {}
        self._started_with: dict[TaskId, Mapping[str, str]] = {}
        """It holds the connector's configuration with which each task was last started."""
        self._numbers = itertools.count(1)
        self._assigned: frozenset[TaskId] = frozenset()
        self._awaited = AwaitedRestarts()
        self._statuses = TaskStatuses(parts, clock_s)
        self._starting: set[int] = set()
        self._touched: set[str] = set()
        """These connectors have tasks of which this worker knows something new that stands in no topic yet."""
        self.starts = StartCounts()

    def reconcile(self, snapshot: ConfigSnapshot, view: View, only: Collection[str] | None = None) -> None:
        """Take the next steps towards the tasks that should run here.

        `only` are the connectors that changed in the topics since the last call; None: any may have, or the group has.
        """
        looked = None if only is None else {*only, *self._touched}
        self._touched.clear()
        placed = _placed_here(snapshot, view, looked)
        desired = {task: spec for task in placed if (spec := self._desired(snapshot, task)) is not None}
        self._assigned = frozenset(desired).union(() if looked is None else _beside(self._assigned, looked))
        self._awaited.keep(self._assigned)
        running = {task: run for task, run in self._running.items() if looked is None or task.connector in looked}
        for action in plan(desired, self._assigned, running):
            if isinstance(action, Start) and self._parts.awaits_fencing(snapshot, action.task.connector):
                self._statuses.await_fencing(action.task, action.spec.connector_config)
            else:
                self._do(action)
        self._statuses.reconcile(snapshot, self._assigned, self._running, looked)
        others = [t for t in self._attempts if (looked is None or t.connector in looked) and t not in desired]
        for task in [t for t in others if self._desired(snapshot, t) is None]:
            del self._attempts[task]
            self._histories.pop(task, None)
            self._started_with.pop(task, None)

    def owns(self, task: TaskId) -> bool:
        """Return True if this worker has to run the task."""
        return task in self._assigned

    def has_runs(self, connector: str) -> bool:
        """Return True if tasks of a connector run here, or have not ended yet. From any thread."""
        return any(task.connector == connector for task in tuple(self._running))

    def restart(self, tasks: Collection[TaskId]) -> None:
        """Restart those of the tasks that this worker runs; each worker restarts its own."""
        for task in tasks:
            if task in self._assigned:
                self._histories.pop(task, None)
                self._attempt_again(task)

    def restart_awaited(self, task: TaskId) -> Future[None]:
        """Restart a task of this worker. The future is done when it is built; FailedRequestError: it cannot be built.

        It does not wait for the end of transactions that the runs before had open, as Kafka may take long for that.
        """
        self.restart([task])
        done = self._awaited.wait(task, self._attempts[task])
        if self._parts.awaits_fencing(self._parts.configs.snapshot, task.connector):
            self._awaited.built(task, self._attempts[task])
        return done

    def restarts(self) -> Mapping[str, int]:
        """Return how often each task, named as `name-0`, was restarted here, by itself or as asked. From any thread."""
        return {str(task): attempts for task, attempts in self._attempts.copy().items()}

    def has_released(self) -> bool:
        """Return True if this worker has no run of a task that is assigned to another worker."""
        return all(task in self._assigned or run.phase is Phase.FAILED for task, run in self._running.items())

    def run_changed(self, change: TaskState) -> None:
        """Take a task host's report of a run."""
        task = TaskId(change.connector, change.task)
        run = self._running.get(task)
        if run is None or run.number != change.run:
            return
        self._touched.add(task.connector)
        if change.run in self._starting:
            self._starting.discard(change.run)
            if change.state is not None:
                self.starts.ended(well=change.state is not State.FAILED)
        match change.state:
            case None:
                del self._running[task]
            case State.FAILED if self._superseded(task, run, self._parts.configs.snapshot):
                # Its successor has shut it out, or the new configuration mends its error: nobody waits for this run.
                _logger.info(
                    "task_ended", extra={"connector": task.connector, "task": task.task, "exception": change.trace}
                )
                del self._running[task]
            case State.FAILED:
                self._fail(task, run, change)
            case state:
                if self._history(task).good_since_s is None:
                    _logger.info(
                        "task_started", extra={"connector": task.connector, "task": task.task, "state": state.value}
                    )
                self._histories[task] = replace(self._history(task), good_since_s=time.monotonic())
                self._statuses.say(task, state, run.spec.connector_config)

    def run_condition(self, change: TaskCondition) -> None:
        """Take a task host's report that something holds a run up, or that its rows move again."""
        task = TaskId(change.connector, change.task)
        run = self._running.get(task)
        if run is not None and run.number == change.run and run.phase is Phase.LIVE:
            self._statuses.say(task, change.state, run.spec.connector_config, condition=change.condition)

    def run_built(self, built: TaskBuilt) -> None:
        """Take note that a task host has built a run."""
        task = TaskId(built.connector, built.task)
        run = self._running.get(task)
        if run is not None and run.number == built.run:
            self._awaited.built(task, run.spec.attempt)

    def asks_to_write(self, asking: AsksToWrite) -> None:
        """Let a run write that has shut out the runs before it, unless it was itself replaced by now (invariant 8)."""
        task = TaskId(asking.connector, asking.task)
        run = self._running.get(task)
        if run is None or run.number != asking.run:
            return
        refusal = None
        try:
            snapshot = self._parts.configs.refresh()
        except (ConnectError, TimeoutError) as error:
            refusal = f"the worker could not read the config topic to its end: {error}"
        else:
            view = self._parts.membership.view
            if not view.owns(snapshot.placements.get(task)):
                refusal = "it runs on another worker now."
            elif self._superseded(task, run, snapshot) or self._parts.awaits_fencing(snapshot, task.connector):
                refusal = "the connector has another configuration now."
        self._parts.supervisor.let_write(asking, refusal)

    def topics_used(self, used: TopicsUsed) -> None:
        """Take a task host's report that a task uses topics."""
        if self._tracks_topics and used.connector in self._parts.configs.snapshot.connectors:
            for topic in used.topics:
                self._parts.statuses.use_topic(TaskId(used.connector, used.task), topic)

    def _superseded(self, task: TaskId, run: Run, snapshot: ConfigSnapshot) -> bool:
        """Return True if the task does not exist any more, or runs with other settings or on another worker now."""
        wanted = self._desired(snapshot, task)
        is_here = self._parts.membership.view.owns(snapshot.placements.get(task))
        return wanted is None or not is_here or not wanted.is_run_of(run.spec)

    def _desired(self, snapshot: ConfigSnapshot, task: TaskId) -> TaskSpec | None:
        """Return how a task should run, here or elsewhere; None if it should not run."""
        name = task.connector
        if not snapshot.has_task(task) or snapshot.target(name) is TargetState.STOPPED:
            return None
        config = snapshot.applied[name]
        kind = self._parts.catalog.kind(config)
        if kind == "unknown":
            return None
        is_paused = snapshot.target(name) is TargetState.PAUSED
        attempt = self._attempts.setdefault(task, 0)
        publication = self._parts.publication(snapshot, name)
        return TaskSpec(kind, config, snapshot.tasks[name][task.task], attempt, is_paused, publication)

    def _do(self, action: Action) -> None:
        match action:
            case Start(task, spec):
                self._start(task, spec)
            case Stop(task, run):
                self._running[task] = replace(run, phase=Phase.STOPPING)
                self._parts.supervisor.stop(task, run.number, self._parts.limits.stop_s)
            case SetPaused(task, run, paused):
                self._running[task] = replace(run, spec=replace(run.spec, paused=paused))
                self._parts.supervisor.set_paused(task, run.number, paused)
            case Forget(task):
                del self._running[task]
            case _:
                assert_never(action)

    def _start(self, task: TaskId, spec: TaskSpec) -> None:
        number = next(self._numbers)
        self._running[task] = Run(number, spec)
        if self._started_with.get(task, spec.connector_config) != spec.connector_config:
            # Somebody has changed the connector: restarts that were in vain with its former settings do not count.
            self._histories.pop(task, None)
        self._started_with[task] = spec.connector_config
        self._starting.add(number)
        self.starts.tried()
        isolated = spec.connector_config.get(ISOLATION_KEY, "").strip() == "process"
        message = StartTask(
            task.connector, task.task, number, spec.kind, spec.connector_config, spec.task_config, spec.paused
        )
        self._parts.supervisor.start(message, isolated=isolated)

    def _fail(self, task: TaskId, run: Run, change: TaskState) -> None:
        _logger.error("task_failed", extra={"connector": task.connector, "task": task.task, "exception": change.trace})
        self._running[task] = replace(run, phase=Phase.FAILED)
        self._awaited.failed(task, run.spec.attempt)
        config = run.spec.connector_config
        policy = self._parts.limits.restarts
        heals = change.retriable and policy.allows(config)
        following = next_restart(policy, self._history(task), time.monotonic()) if heals else None
        condition = failure(change.reason, None if following is None else following.delay_s)
        self._statuses.say(task, State.FAILED, config, change.trace, condition)
        if following is not None:
            self._histories[task] = following.history
            self._parts.loop.later(following.delay_s, f"restarting task {task}", lambda: self._heal(task, run.number))

    def _heal(self, task: TaskId, number: int) -> None:
        run = self._running.get(task)
        if run is not None and run.number == number and task in self._assigned:
            self._attempt_again(task)

    def _attempt_again(self, task: TaskId) -> None:
        self._touched.add(task.connector)
        self._attempts[task] = self._attempts.get(task, 0) + 1
        run = self._running.get(task)
        config = run.spec.connector_config if run is not None else {}
        self._statuses.say(task, State.RESTARTING, config)

    def _history(self, task: TaskId) -> RestartHistory:
        return self._histories.get(task, RestartHistory())


def _beside(tasks: Collection[TaskId], connectors: Collection[str]) -> Sequence[TaskId]:
    return [task for task in tasks if task.connector not in connectors]


def _placed_here(snapshot: ConfigSnapshot, view: View, only: Collection[str] | None) -> Sequence[TaskId]:
    """Return the tasks that have a slot of this worker; those of a worker without a group are all.

    `only` are the connectors whose tasks are looked at; None: all.
    """
    if only is not None:
        tasks = (TaskId(name, number) for name in only for number in snapshot.tasks.get(name, ()))
        return [task for task in tasks if view.owns(snapshot.placements.get(task))]
    if view.slots is None:
        return [TaskId(name, number) for name, tasks in snapshot.tasks.items() for number in tasks]
    return [task for task, slot in snapshot.placements.items() if slot in view.slots]
