"""The herder as REST and the app see it: starts and stops the worker's part in the cluster, answers, queues changes."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final

from connect.api.errors import ConnectError
from connect.cluster.herder.cleanup import Cleanup
from connect.cluster.herder.connector_creation import Creation
from connect.cluster.herder.connector_removal import Removal
from connect.cluster.herder.dry_run import DryRun
from connect.cluster.herder.reconcile import Settler, Surroundings
from connect.cluster.herder.requests import Requests
from connect.cluster.hosts.host_validation import validated
from connect.cluster.loop.background import Background
from connect.cluster.loop.connector_calls import ConnectorCalls, Positions
from connect.cluster.loop.futures import mapped
from connect.cluster.loop.herder_parts import connector_config
from connect.cluster.loop.membership import View
from connect.cluster.model import config_history
from connect.cluster.model.config_records import RestartRecord
from connect.cluster.model.connector_values import Checked, ConnectorInfo, PartitionOffset, Saved, TargetState, TaskPlan
from connect.cluster.model.history import ConfigVersion, Rebalance, StateChange
from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.model.statuses import ConnectorStatus, OverdueTask, Stage
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.offsets.connector_offsets import ConnectorOffsets
from connect.cluster.offsets.sink_groups import HostsGroup, SinkGroup, WorkersGroup, needs_host
from connect.cluster.offsets.source_offsets import StoredSourceOffsets
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import CallResult, Method
from connect.runtime.task.task_id import TaskId

PLAN_TASKS_TIMEOUT_S: Final = 60.0


class Herder:
    """Implements `Operations`. Reads are answered on the caller's thread from immutable values; the rest is queued."""

    def __init__(self, worker: WorkerConfig, around: Surroundings) -> None:
        self._around = around
        self._settler = Settler(worker, around)
        self._parts = self._settler.parts
        self._background = Background(self._parts, self._has_runs)
        self._cleanup = Cleanup(self._parts, self._background, partial(self._ask_by, self._parts.cleanup_calls))
        self._requests = Requests(self._parts, self._cleanup.begin)
        self._offsets = ConnectorOffsets(
            StoredSourceOffsets(around.offset_log, self._ask, self._parts.in_transactions, self._fence),
            self._group,
            around.catalog,
            lambda: self._parts.configs.snapshot,
            self._ask,
            # What a task stores in its last moment would otherwise be stored over what is set.
            await_stopped=self._background.await_stopped,
        )
        self._removal = Removal(self._parts, self._requests, self._offsets, self._background)
        self._creation = Creation(self._parts, self._requests, self._offsets, self._background)
        self._dry_run = DryRun(partial(self._ask, "task_configs"), self._group)
        self._caught_up = threading.Event()
        self._waited = False
        self._expects_work = False
        self._cluster_id = ""

    # --- life of the worker ---

    def read(self, deadline: Deadline) -> None:
        """Read the internal topics to their ends. The logs' errors; may be called again after one."""
        self._settler.read(deadline)

    def start(self, worker_id: str, url: str, cluster_id: str) -> None:
        """Join the group and begin, with the topics that `read` has read."""
        self._cluster_id = cluster_id
        self._settler.start(worker_id, url)
        self._caught_up.set()

    def wait_until_joined(self, deadline: Deadline) -> bool:
        """Return when this worker is in the group, at the deadline the latest; from then on requests are answered."""
        joined = self._settler.wait_until_joined(deadline)
        self._waited = True
        return joined

    def stop(self, deadline: Deadline) -> None:
        """Stop all tasks, say so, leave the group, close everything. May be called twice."""
        if self._caught_up.is_set():
            self._caught_up.clear()
            self._settler.stop(deadline)
        self._background.close()
        self._cleanup.close()
        self._dry_run.close()
        self._offsets.close()
        self._parts.statuses.close()
        self._parts.configs.close()

    # --- reads ---

    @property
    def kafka_cluster_id(self) -> str:
        """The id of the Kafka cluster; empty before the first contact."""
        return self._cluster_id

    @property
    def session_key(self) -> str:
        """What only workers of the cluster know; empty while there is none."""
        record = self._parts.configs.snapshot.session_key
        return record.key if record is not None else ""

    @property
    def stage(self) -> Stage:
        """What the herder thread is doing."""
        return self._parts.loop.stage

    @property
    def started(self) -> bool:
        """The worker has read its internal topics, has joined the group or waits for that, and takes requests."""
        return self._caught_up.is_set() and (self._settler.has_joined or self._waited)

    @property
    def is_out(self) -> bool:
        """The worker lost its place in the group, and with it its tasks."""
        return self._parts.membership.is_out

    @property
    def is_cut_off(self) -> bool:
        """Kafka does not hear this worker, so its tasks have ended; see `kafka_trouble`."""
        return not self._parts.membership.may_work

    @property
    def kafka_trouble(self) -> str | None:
        """Why the brokers were last not reached."""
        return self._parts.membership.trouble

    @property
    def overdue_tasks(self) -> Sequence[OverdueTask]:
        """Tasks that should run and do not."""
        return self._settler.overdue.found

    def require_leader(self) -> None:
        """NotLeaderError where this worker, as far as it knows, does not lead."""
        self._requests.require_leader()

    @property
    def view(self) -> View:
        """The group of workers as this one sees it."""
        return self._parts.membership.view

    def connectors(self) -> Sequence[str]:
        """The names of all connectors."""
        return list(self._parts.configs.snapshot.connectors)

    def info(self, name: str) -> ConnectorInfo:
        """The configuration and tasks of a connector. NotFoundError: there is no such connector."""
        return self._parts.info(name)

    def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The configurations of a connector's tasks."""
        snapshot = self._parts.configs.snapshot
        connector_config(snapshot, name)
        return snapshot.tasks.get(name, {})

    def status(self, name: str) -> ConnectorStatus:
        """The states of a connector and its tasks. NotFoundError: no worker has written a status yet."""
        status = self._parts.statuses.connector(name)
        snapshot = self._parts.configs.snapshot
        config = snapshot.connectors.get(name)
        if status is None or config is None:
            raise NotFoundError(f"No status found for connector {name}")
        tasks = {n: s for n, s in self._parts.statuses.tasks(name).items() if snapshot.has_task(TaskId(name, n))}
        return ConnectorStatus(name, status, tasks, self._parts.catalog.kind(config))

    def topics(self, name: str) -> Sequence[str]:
        """Topics the connector used since they were reset."""
        return sorted(self._parts.statuses.topics(name))

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """The last metrics of this worker's tasks."""
        return self._parts.supervisor.figures()

    def config_versions(self, name: str) -> Sequence[ConfigVersion]:
        """The last configurations of a connector."""
        snapshot = self._parts.configs.snapshot
        connector_config(snapshot, name)
        return config_history.versions(name, snapshot)

    def state_changes(self, name: str) -> Sequence[StateChange]:
        """The last changes of state of a connector and its tasks."""
        connector_config(self._parts.configs.snapshot, name)
        return self._parts.statuses.state_changes(name)

    def rebalances(self) -> Sequence[Rebalance]:
        """The last rebalances."""
        return self._parts.statuses.rebalances()

    # --- changes ---

    def expect_work(self) -> None:
        """Somebody asks for something: hosts are made ready before they are needed. Returns at once."""
        if not self._expects_work:
            self._expects_work = True
            self._parts.loop.post("making task hosts ready", self._settler.expect_work)

    def ping(self) -> Future[None]:
        """Done when the herder thread gets to it."""
        return self._parts.loop.submit("answering a health check", lambda: None)

    def catch_up(self) -> Future[None]:
        """Done when the config topic is read to its end."""
        return self._parts.loop.submit("reading what the leader wrote", self._catch_up)

    def _catch_up(self) -> None:
        self._parts.configs.refresh()

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial_state: TargetState | None,
        who: str = "rest",
        initial_offsets: Sequence[PartitionOffset] | None = None,
    ) -> Future[Saved]:
        """Store a new configuration."""
        if initial_offsets is not None:
            return self._creation.create(name, config, initial_state, initial_offsets, who)
        step = partial(self._requests.create, name, config, initial_state, who)
        return self._parts.loop.submit(f"creating connector {name}", step)

    def save(self, name: str, config: Mapping[str, str], who: str = "rest") -> Future[Saved]:
        """Store a configuration."""
        step = partial(self._requests.save, name, config, who)
        return self._parts.loop.submit(f"writing the configuration of connector {name}", step)

    def delete(self, name: str) -> Future[None]:
        """Remove a connector."""
        return self._parts.loop.submit(f"deleting connector {name}", partial(self._requests.delete, name))

    def delete_with_offsets(self, name: str) -> Future[None]:
        """Stop a connector, forget its offsets, remove it."""
        return self._removal.remove(name)

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

        def begin() -> Future[None]:
            self._requests.check_connector(name)
            self._settler.fencing.again(name)
            return self._settler.connectors.restart(name)

        return self._parts.loop.begin(f"restarting connector {name}", begin)

    def restart_task(self, task: TaskId) -> Future[None]:
        """Restart one task."""

        def begin() -> Future[None]:
            self._requests.check_task(task, owned=self._settler.tasks.owns(task))
            self._settler.fencing.again(task.connector)
            return self._settler.tasks.restart_awaited(task)

        return self._parts.loop.begin(f"restarting task {task}", begin)

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

    def check(self, config: Mapping[str, str], timeout_s: float) -> Future[Checked]:
        """Let the connector try its configuration."""
        return mapped(self._ask("check", config, timeout_s), _findings)

    def validate(self, config: Mapping[str, str], timeout_s: float) -> Future[ConfigInfos]:
        """Let a task host validate a configuration."""
        return mapped(self._ask("validate", config, timeout_s), _validated)

    def plan(self, name: str, config: Mapping[str, str], timeout_s: float) -> Future[TaskPlan]:
        """What a configuration would lead to."""
        return self._dry_run.plan(name, config, timeout_s)

    def _has_runs(self, name: str) -> bool:
        return self._settler.tasks.has_runs(name) or self._requests.may_run_elsewhere(name)

    def _group(self, name: str, config: Mapping[str, str]) -> SinkGroup:
        named = {**config, "name": name}
        return HostsGroup(self._ask, named) if needs_host(named) else WorkersGroup(self._around.group_offsets, named)

    def _fence(self, name: str, config: Mapping[str, str]) -> Future[None]:
        begin = partial(self._settler.fencing.fence, name, config)
        return self._parts.loop.begin(f"shutting out zombies of connector {name}", begin)

    def _ask(
        self, method: Method, config: Mapping[str, str], timeout_s: float, positions: Positions = ()
    ) -> Future[CallResult]:
        return self._ask_by(self._parts.calls, method, config, timeout_s, positions)

    def _ask_by(
        self,
        calls: ConnectorCalls,
        method: Method,
        config: Mapping[str, str],
        timeout_s: float,
        positions: Positions = (),
    ) -> Future[CallResult]:
        begin = partial(calls.ask, method, config, timeout_s, positions)
        return self._parts.loop.begin(f"asking a connector: {method}", begin)


def _validated(result: CallResult) -> ConfigInfos:
    if result.error is not None:
        raise ConnectError(result.error)
    return validated(result.value)


def _findings(result: CallResult) -> Checked:
    findings: dict[str, list[str]] = {}
    for problem in result.problems:
        findings.setdefault(problem.key, []).append(problem.message)
    if result.error is not None and not findings:
        findings[""] = [result.error]
    return Checked(findings, tuple(result.value or ()))
