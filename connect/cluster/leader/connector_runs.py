"""Asks each connector for its tasks, publishes the tasks and reports the state of the connector.

Only the leader does this. No task runs here, and tasks that have not changed must never be published.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConfigProblem, ConnectError
from connect.cluster.loop.herder_parts import HerderParts, with_placeholders
from connect.cluster.model.auto_restart import RestartHistory, next_restart
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import FailedRequestError, NotFoundError
from connect.cluster.model.start_counts import StartCounts
from connect.runtime.task.condition import LONG_CALL_S, failure, held_up, not_returned
from connect.runtime.task.messages import CallResult
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

LOOK_LEAST_S: Final = 1.0
"""A connector that wants to be asked for its tasks again is asked after this many seconds at the earliest."""
_PLANNING: Final = "The question for its tasks (task_configs)"

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _ConnectorRun:
    """Holds one try to bring a connector into its target state; a config change, resume or restart makes a new one."""

    config: Mapping[str, str]
    target: TargetState
    history: RestartHistory = field(default_factory=RestartHistory)
    state: State | None = None
    tasks: int = 0
    """This many tasks were published."""
    commit: int | None = None
    """This is the offset of the commit of these tasks in the config topic; None: they were not seen there."""
    kept_because: str | None = None
    """It says why the tasks stay as they were when the connector was asked again; None: nothing went wrong."""
    asked: Future[CallResult] | None = None
    """This is the future of the answer to the last question for its tasks."""
    told_wait: bool = False
    """It is true while the connector's status says that this question is not answered."""
    waiting: list[Future[None]] = field(default_factory=list)
    is_outdated: bool = False
    """It is true when an answer was not used, as the connector was changed: it is asked again, if changed back, too."""


class ConnectorRuns:
    """Brings every connector into its target state. Owned by the herder's thread."""

    def __init__(self, parts: HerderParts) -> None:
        self._parts = parts
        self._runs: dict[str, _ConnectorRun] = {}
        self._touched: set[str] = set()
        """These connectors have answered since the last look."""
        self.starts = StartCounts()

    def reconcile(self, snapshot: ConfigSnapshot, only: Collection[str] | None = None) -> None:
        """Begin a new run of each connector whose configuration, target state or tasks have changed.

        `only` are the connectors that changed in the topics since the last call; None: any may have.
        """
        looked = None if only is None else {*only, *self._touched}
        self._touched.clear()
        for name in [n for n in (self._runs if looked is None else looked) if n not in snapshot.connectors]:
            if (run := self._runs.pop(name, None)) is not None:
                self._end(run, "The connector was deleted.")
        for name in snapshot.connectors if looked is None else looked & snapshot.connectors.keys():
            config, target = snapshot.connectors[name], snapshot.target(name)
            run = self._runs.get(name)
            if run is None or run.is_outdated or run.config != config or run.target is not target:
                self._begin(name, _ConnectorRun(config, target), snapshot, was=run)
            elif run.state is State.RUNNING and _has_other_tasks(snapshot, name, run):
                self._begin(name, _ConnectorRun(config, target, run.history), snapshot, was=run)
        self._forget_statuses(snapshot, looked)

    def restart(self, name: str) -> Future[None]:
        """Restart a connector. The future is done when it runs; FailedRequestError: it does not start."""
        done: Future[None] = Future()
        snapshot = self._parts.configs.snapshot
        config = snapshot.connectors.get(name)
        if config is None:
            done.set_exception(NotFoundError(f"Connector {name} not found"))
            return done
        run = _ConnectorRun(config, snapshot.target(name), waiting=[done])
        self._begin(name, run, snapshot, was=self._runs.get(name))
        return done

    def release(self) -> None:
        """Take note that another worker leads now."""
        for run in self._runs.values():
            self._end(run, "Another worker leads now.")
        self._runs.clear()

    def report_unassigned(self) -> None:
        """Report the connectors as UNASSIGNED, as this worker leaves the group."""
        for name, run in self._runs.items():
            if run.state in (State.RUNNING, State.PAUSED):
                self._parts.statuses.put_connector(name, self._parts.status(State.UNASSIGNED, run.config))

    def _begin(self, name: str, run: _ConnectorRun, snapshot: ConfigSnapshot, was: _ConnectorRun | None) -> None:
        if was is not None:
            # Requests that wait for the old run get the outcome of the new one.
            run.waiting.extend(was.waiting)
            was.waiting = []
        self._runs[name] = run
        match run.target:
            case TargetState.STARTED:
                self._ask_for_tasks(name, run)
            case TargetState.PAUSED if was is not None and was.state is State.FAILED and not run.waiting:
                run.state = State.FAILED  # a failed connector cannot be paused
            case TargetState.PAUSED:
                self._report(name, run, State.PAUSED)
            case TargetState.STOPPED:
                if snapshot.tasks.get(name):
                    self._put_tasks(name, ())
                self._report(name, run, State.STOPPED)

    def _ask_for_tasks(self, name: str, run: _ConnectorRun) -> None:
        self.starts.tried()
        self._ask(name, run).add_done_callback(lambda done: self._answered(name, run, done.result()))

    def _ask(self, name: str, run: _ConnectorRun) -> Future[CallResult]:
        # A PATCH may store another name in the configuration, which is no right to another connector's offsets.
        named = {**run.config, "name": name}
        run.asked = self._parts.calls.ask("task_configs", named, self._parts.limits.plan_tasks_s)
        self._tell_wait_later(name, run, run.asked, time.monotonic())
        return run.asked

    def _tell_wait_later(self, name: str, run: _ConnectorRun, asked: Future[CallResult], began_s: float) -> None:
        def tell() -> None:
            if self._runs.get(name) is run and run.asked is asked and not asked.done():
                self._tell_wait(name, run, time.monotonic() - began_s)
                self._tell_wait_later(name, run, asked, began_s)

        self._parts.loop.later(LONG_CALL_S, f"seeing whether connector {name} has planned its tasks", tell)

    def _tell_wait(self, name: str, run: _ConnectorRun, lasts_s: float) -> None:
        """Report that the connector, or the system that it asks, has not answered the question for its tasks yet."""
        why = not_returned(_PLANNING, lasts_s, self._parts.catalog.asked_addresses(run.config))
        kind = self._parts.catalog.kind(run.config)
        _logger.warning("connector_planning_waits", extra={"connector": name, "reason": why})
        run.told_wait = True
        condition = held_up(why, "source" if kind == "unknown" else kind)
        state = run.state or State.UNASSIGNED
        self._parts.statuses.put_connector(name, self._parts.status(state, run.config, condition=condition))

    def _answered(self, name: str, run: _ConnectorRun, result: CallResult) -> None:
        if not self._is_newest(name, run):
            return
        if (refused := _told(result.problems)) is not None:
            self._fail(name, run, refused)
        elif result.error is not None:
            self._fail(name, run, self._with_addresses(run, result.trace or result.error))
        elif (problem := self._publish(name, run, result)) is not None:
            self._fail(name, run, problem)
        else:
            self.starts.ended(well=True)
            run.history = RestartHistory(run.history.restarts, time.monotonic())
            self._report(name, run, State.RUNNING)
            self._look_later(name, run, result.again_s)

    def _is_newest(self, name: str, run: _ConnectorRun) -> bool:
        """Return False if the connector was changed or deleted since a run of it began: the next look renews that."""
        snapshot = self._parts.configs.snapshot
        run.is_outdated = snapshot.connectors.get(name) != run.config or snapshot.target(name) is not run.target
        return self._runs.get(name) is run and not run.is_outdated

    def _with_addresses(self, run: _ConnectorRun, text: str) -> str:
        """Add the addresses that the connector asked to the first line of an error, if the answer took long."""
        asked = self._parts.catalog.asked_addresses(run.config) if run.told_wait else ""
        line, end, rest = text.partition("\n")
        return f"{line} It asked {asked}.{end}{rest}" if asked else text

    def _publish(self, name: str, run: _ConnectorRun, result: CallResult) -> str | None:
        """Write the tasks if they have changed. Return what went wrong, or None."""
        # Clients and Java workers look for the class in a task's configuration; nothing here needs it.
        task_class = self._parts.catalog.task_class(run.config)
        named = {} if task_class is None else {"task.class": task_class}
        planned = with_placeholders(result.value or (), run.config)
        # The topic keeps no null, and what it gives back is compared with these.
        task_configs = [{**{k: v for k, v in one.items() if v is not None}, **named} for one in planned]
        try:
            if is_news(self._parts.configs.snapshot, name, run.config, task_configs):
                self._put_tasks(name, task_configs)
        except (ConnectError, TimeoutError) as error:
            return f"The tasks could not be written to the config topic: {error}"
        snapshot = self._parts.configs.snapshot
        is_seen = list(snapshot.tasks.get(name, {}).values()) == task_configs
        run.tasks, run.commit = len(task_configs), snapshot.committed.get(name) if is_seen else None
        self._touched.add(name)
        return None

    def _put_tasks(self, name: str, task_configs: Sequence[Mapping[str, str]]) -> None:
        snapshot = self._parts.configs.snapshot
        gone = [TaskId(name, number) for number in snapshot.tasks.get(name, {}) if number >= len(task_configs)]
        elsewhere = self._parts.stopping.elsewhere(snapshot, gone)
        self._parts.configs.put_tasks(name, task_configs)
        if elsewhere:
            self._parts.stopping.note(name)

    def _look_later(self, name: str, run: _ConnectorRun, again_s: float | None) -> None:
        if again_s is not None:
            self._parts.loop.later(
                max(again_s, LOOK_LEAST_S),
                f"asking connector {name} whether its tasks are still the same",
                lambda: self._look(name, run, again_s),
            )

    def _look(self, name: str, run: _ConnectorRun, again_s: float) -> None:
        if self._runs.get(name) is run and run.state is State.RUNNING:
            self._ask(name, run).add_done_callback(lambda done: self._looked(name, run, done.result(), again_s))

    def _looked(self, name: str, run: _ConnectorRun, result: CallResult, again_s: float) -> None:
        if not self._is_newest(name, run) or run.state is not State.RUNNING:
            return
        refused = _told(result.problems) or (result.error and self._with_addresses(run, result.error))
        problem = self._publish(name, run, result) if refused is None else refused
        if problem is not None:
            _logger.warning("connector_tasks_kept", extra={"connector": name, "reason": problem})
        if problem != run.kept_because or run.told_wait:
            run.kept_because, run.told_wait = problem, False
            who = "person" if result.problems else "source"
            why = None if problem is None else held_up(f"Its tasks stay as they are: {problem}", who)
            self._parts.statuses.put_connector(name, self._parts.status(run.state, run.config, condition=why))
        self._look_later(name, run, again_s)

    def _report(self, name: str, run: _ConnectorRun, state: State) -> None:
        run.state, run.told_wait = state, False
        self._parts.statuses.put_connector(name, self._parts.status(state, run.config))
        for waiting in run.waiting:
            waiting.set_result(None)
        run.waiting = []

    def _fail(self, name: str, run: _ConnectorRun, trace: str) -> None:
        _logger.error("connector_failed", extra={"connector": name, "exception": trace})
        run.state = State.FAILED
        self.starts.ended(well=False)
        policy = self._parts.limits.restarts
        following = next_restart(policy, run.history, time.monotonic()) if policy.allows(run.config) else None
        why = failure(trace.partition("\n")[0], None if following is None else following.delay_s)
        self._parts.statuses.put_connector(name, self._parts.status(State.FAILED, run.config, trace, why))
        self._end(run, f"Failed to start connector: {name}")
        if following is not None:
            self._parts.loop.later(
                following.delay_s, f"restarting connector {name}", lambda: self._again(name, run, following.history)
            )

    def _again(self, name: str, failed: _ConnectorRun, history: RestartHistory) -> None:
        if self._runs.get(name) is failed and failed.state is State.FAILED:
            run = _ConnectorRun(failed.config, failed.target, history)
            self._begin(name, run, self._parts.configs.snapshot, was=failed)

    def _end(self, run: _ConnectorRun, why: str) -> None:
        for waiting in run.waiting:
            waiting.set_exception(FailedRequestError(why))
        run.waiting = []

    def _forget_statuses(self, snapshot: ConfigSnapshot, only: Collection[str] | None) -> None:
        statuses = self._parts.statuses
        for name in statuses.names() if only is None else only:
            if name not in snapshot.connectors:
                statuses.forget(name)
            elif name not in snapshot.inconsistent:
                for number in statuses.tasks(name):
                    if not snapshot.has_task(TaskId(name, number)):
                        statuses.forget_task(TaskId(name, number))


def _has_other_tasks(snapshot: ConfigSnapshot, name: str, run: _ConnectorRun) -> bool:
    """Return True if the topic has other tasks than a run has published.

    Not all of their records can be read, or the connector was stopped and resumed since the last look, or records of a
    former leader came late: without their commit, or with it, and then they may be made of an older configuration.
    """
    is_committed = snapshot.committed.get(name) == run.commit and len(snapshot.tasks.get(name, {})) == run.tasks
    return not is_committed or name in snapshot.pending


def _told(problems: Sequence[ConfigProblem]) -> str | None:
    return "\n".join(problem.message for problem in problems) or None


def is_news(
    snapshot: ConfigSnapshot, name: str, config: Mapping[str, str], task_configs: Sequence[Mapping[str, str]]
) -> bool:
    """Return True if tasks must be published: they or the connector's configuration changed (KAFKA-9228).

    So they must if the last ones were not committed: once Kafka has removed those before them, a worker that starts
    finds no tasks.
    """
    if name in snapshot.inconsistent or name in snapshot.pending or snapshot.applied.get(name) != config:
        return True
    return list(snapshot.tasks.get(name, {}).values()) != list(task_configs)
