"""The herder: one thread that brings connectors and tasks where the config topic says they should be.

It never runs connector code and waits for nothing but Kafka; the decisions are in `plan`, `restarts`, `auto_restart`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from connect.api.deadline import Deadline
from connect.cluster.auto_restart import RestartPolicy
from connect.cluster.cluster_parts import ConnectorCatalog, Limits, Parts, connector_config
from connect.cluster.config_records import LoggerRecord, RestartRecord
from connect.cluster.config_state import ConfigSnapshot
from connect.cluster.config_store import ConfigStore
from connect.cluster.connector_calls import ConnectorCalls
from connect.cluster.connector_offsets import ConnectorOffsets, GroupOffsets
from connect.cluster.connector_runs import ConnectorRuns
from connect.cluster.event_loop import EventLoop
from connect.cluster.log import MakeLog
from connect.cluster.membership import NOBODY, Membership, View
from connect.cluster.operations import (
    ConnectorInfo,
    ConnectorStatus,
    NotFoundError,
    PartitionOffset,
    Saved,
    Stage,
    TargetState,
)
from connect.cluster.placer import Placer
from connect.cluster.requests import Requests
from connect.cluster.restarts import selected_tasks, selects_connector, wider
from connect.cluster.status_store import StatusStore
from connect.cluster.supervisor import KILL_GRACE_S, HostLimits, Launch, Supervisor
from connect.cluster.task_runs import TaskRuns
from connect.runtime.messages import CallResult, TaskId, TaskState, TopicsUsed
from connect.runtime.worker_config import WorkerConfig

TICK_S: Final = 0.25
PLAN_TASKS_TIMEOUT_S: Final = 60.0
_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a herder is built on: the outside world, as the app or a test provides it."""

    config_log: MakeLog
    status_log: MakeLog
    offset_log: MakeLog
    group_offsets: Callable[[Mapping[str, str]], GroupOffsets]
    membership: Callable[[ConfigStore], Membership]
    catalog: ConnectorCatalog
    launch: Launch
    host_count: int
    set_log_level: Callable[[str, str], None]


class Herder:
    """Implements `Operations`. Reads are answered on the caller's thread from immutable values; the rest is queued."""

    def __init__(self, worker: WorkerConfig, around: Surroundings) -> None:
        self._around = around
        self._caught_up = threading.Event()
        self._cluster_id = ""
        self._pending_restarts: dict[str, RestartRecord] = {}
        self._releases: list[threading.Event] = []
        self._leaving = threading.Event()
        self._joined = threading.Event()
        loop = EventLoop("herder", self._settle)
        configs = ConfigStore(around.config_log, self)
        limits = HostLimits(around.host_count, worker.task_host_memory_limit_mb * 1024 * 1024)
        self._parts = Parts(
            loop=loop,
            configs=configs,
            statuses=StatusStore(around.status_log),
            membership=around.membership(configs),
            supervisor=Supervisor(around.launch, limits, loop.post, self),
            calls=ConnectorCalls(around.launch, loop.post),
            catalog=around.catalog,
            limits=Limits(
                worker.task_shutdown_graceful_timeout_ms / 1000, PLAN_TASKS_TIMEOUT_S, RestartPolicy.of(worker)
            ),
        )
        self._offsets = ConnectorOffsets(
            around.offset_log, around.group_offsets, around.catalog, lambda: configs.snapshot
        )
        self._placer = Placer(configs, self._parts.statuses)
        self._led = False
        self._requests = Requests(self._parts)
        self._connectors = ConnectorRuns(self._parts)
        self._tasks = TaskRuns(self._parts, tracks_topics=worker.topic_tracking_enable)

    # --- life of the worker ---

    def start(self, worker_id: str, url: str, cluster_id: str, deadline: Deadline) -> None:
        """Read the internal topics, join the group, begin. The logs' errors; may be called again after one."""
        self._parts.worker_id = worker_id
        self._cluster_id = cluster_id
        self._parts.configs.start(deadline)
        self._parts.statuses.start(deadline)
        self._parts.loop.start()
        self._parts.loop.post("ticking", self._tick)
        self._parts.membership.start(url, worker_id, self)
        self._caught_up.set()

    def wait_until_joined(self, deadline: Deadline) -> bool:
        """Return when this worker has its part of the work; False when the deadline comes first."""
        while not self._joined.is_set() and not deadline.expired:
            self._joined.wait(min(TICK_S, deadline.remaining_s))
        return self._joined.is_set()

    def stop(self, deadline: Deadline) -> None:
        """Stop all tasks, say so, leave the group, close everything."""
        if not self._caught_up.is_set():
            self._close_logs()
            return
        self._caught_up.clear()
        self._parts.loop.submit("reporting connectors unassigned", self._connectors.report_unassigned)
        self._leaving.set()
        # One second more than a task may take: then its host is killed, and even that is reported.
        self.release(frozenset(), deadline.sooner(self._parts.limits.stop_s + 2 * KILL_GRACE_S))
        self._parts.membership.close(deadline)
        self._parts.supervisor.kill_all("was killed: the worker ended and the task had not stopped in time")
        self._parts.loop.stop(deadline.remaining_s)
        self._parts.supervisor.close()
        self._parts.calls.kill("was killed: the worker ended")
        self._close_logs()

    def _close_logs(self) -> None:
        self._offsets.close()
        self._parts.statuses.close()
        self._parts.configs.close()

    # --- reads ---

    @property
    def kafka_cluster_id(self) -> str:
        """The id of the Kafka cluster; empty before the first contact."""
        return self._cluster_id

    @property
    def stage(self) -> Stage:
        """What the herder thread is doing."""
        return self._parts.loop.stage

    @property
    def started(self) -> bool:
        """The worker has read its internal topics, joined the group and takes requests."""
        return self._caught_up.is_set() and self._joined.is_set()

    def require_leader(self) -> None:
        """NotLeaderError, as far as this worker knows."""
        self._requests.require_leader()

    @property
    def view(self) -> View:
        """The group of workers as this one sees it."""
        return self._parts.membership.view

    def connectors(self) -> Sequence[str]:
        """The names of all connectors."""
        return list(self._parts.configs.snapshot.connectors)

    def info(self, name: str) -> ConnectorInfo:
        """NotFoundError: there is no such connector."""
        return self._parts.info(name)

    def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The configurations of a connector's tasks."""
        snapshot = self._parts.configs.snapshot
        connector_config(snapshot, name)
        return snapshot.tasks.get(name, {})

    def status(self, name: str) -> ConnectorStatus:
        """NotFoundError: no worker has written a status yet."""
        status = self._parts.statuses.connector(name)
        snapshot = self._parts.configs.snapshot
        config = snapshot.connectors.get(name)
        if status is None or config is None:
            raise NotFoundError(f"No status found for connector {name}")
        tasks = {n: s for n, s in self._parts.statuses.tasks(name).items() if snapshot.has_task(TaskId(name, n))}
        return ConnectorStatus(name, status, tasks, self._around.catalog.kind(config))

    def topics(self, name: str) -> Sequence[str]:
        """Topics the connector used since they were reset."""
        return sorted(self._parts.statuses.topics(name))

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """The last metrics of this worker's tasks."""
        return self._parts.supervisor.figures()

    # --- changes ---

    def ping(self) -> Future[None]:
        """Done when the herder thread gets to it."""
        return self._parts.loop.submit("answering a health check", lambda: None)

    def create(self, name: str, config: Mapping[str, str], initial_state: TargetState | None) -> Future[Saved]:
        """Store a new configuration."""
        step = partial(self._requests.create, name, config, initial_state)
        return self._parts.loop.submit(f"creating connector {name}", step)

    def save(self, name: str, config: Mapping[str, str]) -> Future[Saved]:
        """Store a configuration."""
        step = partial(self._requests.save, name, config)
        return self._parts.loop.submit(f"writing the configuration of connector {name}", step)

    def delete(self, name: str) -> Future[None]:
        """Remove a connector."""
        return self._parts.loop.submit(f"deleting connector {name}", partial(self._requests.delete, name))

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        """Pause, resume or stop."""
        step = partial(self._requests.set_target, name, target)
        return self._parts.loop.submit(f"setting the target state of connector {name} to {target}", step)

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Future[ConnectorStatus]:
        """Restart what the flags select."""
        step = partial(self._requests.restart, RestartRecord(name, include_tasks, only_failed))
        return self._parts.loop.submit(f"restarting connector {name}", step)

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the connector itself."""
        done: Future[None] = Future()

        def step() -> None:
            self._requests.check_connector(name)
            _pass_on(self._connectors.restart(name), done)

        self._parts.loop.submit(f"restarting connector {name}", step).add_done_callback(partial(_pass_error, done))
        return done

    def restart_task(self, task: TaskId) -> Future[None]:
        """Restart one task."""

        def step() -> None:
            self._requests.check_task(task, owned=self._tasks.owns(task))
            self._tasks.restart([task])

        return self._parts.loop.submit(f"restarting task {task}", step)

    def reset_topics(self, name: str) -> Future[None]:
        """Forget the topics the connector used."""
        step = partial(self._requests.reset_topics, name)
        return self._parts.loop.submit(f"resetting the topics of connector {name}", step)

    def offsets(self, name: str) -> Future[Sequence[PartitionOffset]]:
        """Where a connector stands."""
        return self._offsets.read(name)

    def alter_offsets(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[bool]:
        """Set or forget offsets of a stopped connector."""
        self.require_leader()
        return self._offsets.alter(name, offsets)

    def reset_offsets(self, name: str) -> Future[bool]:
        """Forget all offsets of a stopped connector."""
        self.require_leader()
        return self._offsets.reset(name)

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        """Set a log level on every worker that is up."""
        step = partial(self._requests.set_log_level, logger, level)
        return self._parts.loop.submit("writing a log level for all workers", step)

    def check(self, config: Mapping[str, str], timeout_s: float) -> Future[Mapping[str, Sequence[str]]]:
        """Let the connector try its configuration."""
        done: Future[Mapping[str, Sequence[str]]] = Future()

        def step() -> None:
            answer = self._parts.calls.ask("check", config, timeout_s)
            answer.add_done_callback(lambda a: done.set_result(_findings(a.result())))

        self._parts.loop.submit("checking a configuration", step).add_done_callback(partial(_pass_error, done))
        return done

    # --- what others tell, on their threads ---

    def config_changed(self) -> None:
        """ConfigListener."""
        self._parts.membership.config_changed()
        self._parts.loop.post("taking in a configuration change", _noted)

    def restart_requested(self, request: RestartRecord) -> None:
        """ConfigListener."""
        self._parts.loop.post("taking in a restart request", partial(self._note_restart, request))

    def log_level_requested(self, request: LoggerRecord) -> None:
        """ConfigListener."""
        self._around.set_log_level(request.logger, request.level)

    def view_changed(self) -> None:
        """MembershipListener."""
        if self.view.generation:
            self._joined.set()
        self._parts.loop.post("taking in a change of the group", _noted)

    def release(self, slots: frozenset[int], deadline: Deadline) -> None:
        """MembershipListener."""
        released = threading.Event()
        self._parts.loop.post(f"releasing {len(slots)} slots", partial(self._releases.append, released))
        released.wait(deadline.remaining_s)

    def lost(self) -> None:
        """MembershipListener."""
        self._parts.supervisor.kill_all("was killed: this worker was put out of the group")
        self._parts.loop.post("leaving all tasks to others", _noted)

    # --- on the herder's thread ---

    def run_changed(self, change: TaskState) -> None:
        """RunListener."""
        self._tasks.run_changed(change)

    def topics_used(self, used: TopicsUsed) -> None:
        """RunListener."""
        self._tasks.topics_used(used)

    def _note_restart(self, request: RestartRecord) -> None:
        self._pending_restarts[request.name] = wider(self._pending_restarts.get(request.name), request)

    def _tick(self) -> None:
        self._parts.supervisor.tick()
        self._parts.calls.tick()
        self._parts.loop.later(TICK_S, "ticking", self._tick)

    def _settle(self) -> None:
        snapshot = self._parts.configs.snapshot
        view = NOBODY if self._leaving.is_set() else self._parts.membership.view
        self._carry_out_restarts(view)
        if view.leads:
            snapshot = self._lead(snapshot, view)
        else:
            self._led = False
            self._connectors.release()
        self._tasks.settle(snapshot, view)
        if self._releases and self._tasks.has_released():
            for released in self._releases:
                released.set()
            self._releases.clear()

    def _lead(self, snapshot: ConfigSnapshot, view: View) -> ConfigSnapshot:
        if not self._led:
            # The leader before this one may have written a moment ago.
            snapshot = self._parts.configs.refresh()
            self._placer.forget(snapshot)
            self._led = True
        self._connectors.settle(snapshot)
        self._placer.settle(self._parts.configs.snapshot, view)
        return self._parts.configs.snapshot

    def _carry_out_restarts(self, view: View) -> None:
        requests, self._pending_restarts = self._pending_restarts, {}
        statuses = self._parts.statuses
        for name, request in requests.items():
            state = statuses.connector(name)
            if view.leads and selects_connector(request, state.state if state else None):
                self._connectors.restart(name)
            tasks = (TaskId(name, number) for number in selected_tasks(request, statuses.tasks(name)))
            self._tasks.restart(list(tasks))


def _noted() -> None:
    """A step whose point is the settling after it."""


def _pass_on(answer: Future[None], done: Future[None]) -> None:
    def finish(finished: Future[None]) -> None:
        error = finished.exception()
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(None)

    answer.add_done_callback(finish)


def _pass_error(done: Future[Any], step: Future[None]) -> None:
    error = step.exception()
    if error is not None and not done.done():
        done.set_exception(error)


def _findings(result: CallResult) -> Mapping[str, Sequence[str]]:
    findings: dict[str, list[str]] = {}
    for problem in result.problems:
        findings.setdefault(problem.key, []).append(problem.message)
    if result.error is not None and not findings:
        findings[""] = [result.error]
    return findings
