"""Keeps a cluster in memory: its configurations and states, to which it does what a herder does, without running a
task.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sample_plugins import catalog, worker_config

from connect.api.connector import AlteredOffsets
from connect.cluster.model.connector_values import Checked, ConnectorInfo, PartitionOffset, Saved, TargetState, TaskPlan
from connect.cluster.model.history import Author, ConfigVersion, Rebalance, StateChange
from connect.cluster.model.request_errors import (
    BadRequestError,
    ChangedMeanwhileError,
    ConflictError,
    NotFoundError,
    NotLeaderError,
)
from connect.cluster.model.statuses import ConnectorStatus, OverdueTask, Stage, Status
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.validation.check import Resolve, Validator
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

T = TypeVar("T")


@dataclass
class Cluster:
    """What all workers share."""

    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, list[ConfigVersion]] = field(default_factory=dict)
    targets: dict[str, TargetState] = field(default_factory=dict)
    offsets: dict[str, list[PartitionOffset]] = field(default_factory=dict)
    topics: dict[str, list[str]] = field(default_factory=dict)
    levels: list[tuple[str, str]] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    leader_url: str | None = None
    stored: int = 0
    """Counts the configurations that were written, each a millisecond behind the one before."""


class MemoryOperations:
    """One worker's view. `leads` False: refuses what only the leader may do. `stuck`: futures are never done."""

    def __init__(self, cluster: Cluster | None = None, *, leads: bool = True) -> None:
        self.cluster = cluster or Cluster()
        self.leads = leads
        self.started = True
        self.is_ready = True
        self.stuck = False
        self.kafka_cluster_id = "cluster-in-memory"
        self.session_key = "known to workers"
        self.stage = Stage("polling the config topic", 1_700_000_000_000, 1_700_000_000_500)
        self.problems: Mapping[str, Sequence[str]] = {}
        self.check_notes: tuple[str, ...] = ()
        self.offset_notes: tuple[str, ...] = ()
        self.missing_partitions: tuple[Mapping[str, object], ...] = ()
        self.check_error: Exception | None = None
        self.checked: list[Mapping[str, str]] = []
        self.check_is_stuck = False
        self.validate_error: Exception | None = None
        self.validate_is_stuck = False
        self.resolve: Resolve = dict
        self.plan_error: Exception | None = None
        self.sample_error: Exception | None = None
        self.sampled_row: Mapping[str, Any] = {"place": "row 1", "steps": []}
        self.asked_while_stuck = threading.Event()
        self.caught_up = 0
        self.told_alerts: dict[str, Mapping[str, Any]] = {}
        self.catch_up_error: Exception | None = None
        self.connectors = MemoryConnectors(self)
        self.tasks = MemoryTasks(self)
        self.topics = MemoryTopics(self)
        self.offsets = MemoryOffsets(self)
        self.history = MemoryHistory(self)
        self.trials = MemoryTrials(self)
        self.worker = self

    def done(self, value: T) -> Future[T]:
        future: Future[T] = Future()
        if self.stuck:
            self.asked_while_stuck.set()
        else:
            future.set_result(value)
        return future

    def failed(self, error: Exception) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(error)
        return future

    def require_leader(self) -> None:
        if not self.leads:
            raise NotLeaderError(self.cluster.leader_url)

    is_out = False
    is_cut_off = False
    kafka_trouble = None
    overdue_tasks: Sequence[OverdueTask] = ()

    leader = "w1:8083"

    def figures(self) -> Mapping[str, float]:
        return {"leads": float(self.leads), "rebalances_total": 2.0, "task_starts_good_ratio": 0.5}

    def expect_work(self) -> None:
        """Nothing to prepare."""

    def ping(self) -> Future[None]:
        return self.done(None)

    def catch_up(self) -> Future[None]:
        self.caught_up += 1
        return self.done(None) if self.catch_up_error is None else self.failed(self.catch_up_error)

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        self.cluster.levels.append((logger, level))
        return self.done(None)

    def store(self, name: str, config: Mapping[str, str], who: str) -> Future[Saved]:
        created = name not in self.cluster.configs
        self.cluster.configs[name] = dict(config)
        versions = self.cluster.versions.setdefault(name, [])
        self.cluster.stored += 1
        author = Author(who, 1_700_000_000_000 + self.cluster.stored)
        versions.append(ConfigVersion(len(versions) + 1, dict(config), author))
        info = self.connectors.info(name)
        return self.done(Saved(created, replace(info, tasks=[]) if created else info))

    def config(self, name: str) -> dict[str, str]:
        return self.known(name, f"Connector {name} not found")

    def known(self, name: str, message: str) -> dict[str, str]:
        if name not in self.cluster.configs:
            raise NotFoundError(message)
        return self.cluster.configs[name]

    def task_count(self, name: str) -> int:
        if self.cluster.targets[name] is TargetState.STOPPED:
            return 0
        return int(self.cluster.configs[name].get("tasks.max", "1"))

    def check_stopped(self, name: str) -> None:
        self.config(name)
        self.require_leader()
        if self.cluster.targets[name] is not TargetState.STOPPED:
            raise BadRequestError("Connectors must be in the STOPPED state before their offsets can be modified.")


class MemoryConnectors:
    """Connectors of the cluster in memory."""

    def __init__(self, whole: MemoryOperations) -> None:
        self._whole = whole

    def names(self) -> Sequence[str]:
        return list(self._whole.cluster.configs)

    def info(self, name: str) -> ConnectorInfo:
        config = self._whole.config(name)
        kind = "sink" if "Sink" in config["connector.class"] else "source"
        tasks = [TaskId(name, n) for n in range(self._whole.task_count(name))]
        return ConnectorInfo(name, config, tasks, kind, self._whole.cluster.targets[name])

    def status(self, name: str) -> ConnectorStatus:
        if name not in self._whole.cluster.configs:
            raise NotFoundError(f"No status found for connector {name}")
        state = {TargetState.STARTED: State.RUNNING}.get(self._whole.cluster.targets[name])
        state = state or State(self._whole.cluster.targets[name].value)
        one = Status(state, "127.0.0.1:8083", version="4.1.0")
        tasks = dict.fromkeys(range(self._whole.task_count(name)), one)
        return ConnectorStatus(name, one, tasks, self.info(name).type)

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial_state: TargetState | None,
        who: str = "rest",
        initial_offsets: Sequence[PartitionOffset] | None = None,
    ) -> Future[Saved]:
        self._whole.require_leader()
        if name in self._whole.cluster.configs:
            return self._whole.failed(ConflictError(f"Connector {name} already exists"))
        self._whole.cluster.targets[name] = initial_state or TargetState.STARTED
        stored = self._whole.store(name, config, who)
        if initial_offsets is None:
            return stored
        self._whole.cluster.offsets[name] = [given for given in initial_offsets if given.offset is not None]
        return self._whole.done(replace(stored.result(), offsets_whole=True))

    def save(
        self, name: str, config: Mapping[str, str], who: str = "rest", *, instead_of: Mapping[str, str] | None = None
    ) -> Future[Saved]:
        self._whole.require_leader()
        if instead_of is not None and self._whole.cluster.configs.get(name) != instead_of:
            return self._whole.failed(ChangedMeanwhileError(f"Connector {name} was changed by another request"))
        self._whole.cluster.targets.setdefault(name, TargetState.STARTED)
        return self._whole.store(name, config, who)

    def delete(self, name: str) -> Future[None]:
        self._whole.require_leader()
        self._whole.config(name)
        del self._whole.cluster.configs[name]
        del self._whole.cluster.targets[name]
        del self._whole.cluster.versions[name]
        return self._whole.done(None)

    def delete_with_offsets(self, name: str) -> Future[None]:
        self._whole.require_leader()
        self._whole.config(name)
        self._whole.cluster.offsets.pop(name, None)
        return self.delete(name)

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        self._whole.known(name, f"Unknown connector {name}")
        if target is TargetState.STOPPED:
            self._whole.require_leader()
        self._whole.cluster.targets[name] = target
        return self._whole.done(None)

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Future[ConnectorStatus]:
        self._whole.known(name, f"Unknown connector: {name}")
        self._whole.require_leader()
        self._whole.cluster.restarts.append(f"{name} tasks={include_tasks} failed={only_failed}")
        status = self.status(name)
        if only_failed:
            return self._whole.done(status)
        tasks = (
            {n: replace(s, state=State.RESTARTING) for n, s in status.tasks.items()} if include_tasks else status.tasks
        )
        return self._whole.done(
            replace(status, connector=replace(status.connector, state=State.RESTARTING), tasks=tasks)
        )

    def restart_connector(self, name: str) -> Future[None]:
        self._whole.known(name, f"Unknown connector: {name}")
        self._whole.cluster.restarts.append(name)
        return self._whole.done(None)


class MemoryTasks:
    """Their tasks."""

    def __init__(self, whole: MemoryOperations) -> None:
        self._whole = whole

    def configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        config = self._whole.config(name)
        return {n: {**config, "task.class": "Task"} for n in range(self._whole.task_count(name))}

    def restart(self, task: TaskId) -> Future[None]:
        self._whole.known(task.connector, f"Unknown connector: {task.connector}")
        if not 0 <= task.task < self._whole.task_count(task.connector):
            raise NotFoundError(f"Unknown task: {task}")
        self._whole.cluster.restarts.append(str(task))
        return self._whole.done(None)

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        return {
            str(TaskId(name, n)): {"rows_total": 3.0, "put_s_total": 0.5, "lag_rows": 7.0, "own_gauge": time.time()}
            for name in self._whole.cluster.configs
            for n in range(self._whole.task_count(name))
        }


class MemoryTopics:
    """The topics they used."""

    def __init__(self, whole: MemoryOperations) -> None:
        self._whole = whole

    def used(self, name: str) -> Sequence[str]:
        return self._whole.cluster.topics.get(name, [])

    def reset(self, name: str) -> Future[None]:
        self._whole.cluster.topics.pop(name, None)
        return self._whole.done(None)


class MemoryOffsets:
    """Where they stand."""

    def __init__(self, whole: MemoryOperations) -> None:
        self._whole = whole

    def read(self, name: str) -> Future[Sequence[PartitionOffset]]:
        self._whole.config(name)
        return self._whole.done(self._whole.cluster.offsets.get(name, []))

    def alter(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[AlteredOffsets]:
        self._whole.check_stopped(name)
        kept = [
            o for o in self._whole.cluster.offsets.get(name, []) if all(o.partition != n.partition for n in offsets)
        ]
        self._whole.cluster.offsets[name] = kept + [o for o in offsets if o.offset is not None]
        return self._whole.done(AlteredOffsets(is_whole=True, notes=self._whole.offset_notes))

    def unknown(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[Sequence[PartitionOffset]]:
        self._whole.config(name)
        return self._whole.done([one for one in offsets if one.partition in self._whole.missing_partitions])

    def reset(self, name: str) -> Future[bool]:
        self._whole.check_stopped(name)
        self._whole.cluster.offsets.pop(name, None)
        return self._whole.done(False)


class MemoryHistory:
    """What was before."""

    def __init__(self, whole: MemoryOperations) -> None:
        self._whole = whole

    def config_versions(self, name: str) -> Sequence[ConfigVersion]:
        self._whole.config(name)
        return self._whole.cluster.versions[name]

    def state_changes(self, name: str) -> Sequence[StateChange]:
        self._whole.config(name)
        failed = Status(State.FAILED, "127.0.0.1:8083", "Trace: boom")
        return [
            StateChange(1, None, Status(State.RUNNING, "127.0.0.1:8083"), 1_700_000_000_000),
            StateChange(1, 0, failed, 1_700_000_000_001),
        ]

    def rebalances(self) -> Sequence[Rebalance]:
        return [Rebalance(1, 7, "127.0.0.1:8083", ("127.0.0.1:8083",), 1_700_000_000_000)]

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        return self._whole.told_alerts

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        if members is None:
            self._whole.told_alerts.pop(key, None)
        else:
            self._whole.told_alerts[key] = members


class MemoryTrials:
    """What a task host would answer."""

    def __init__(self, whole: MemoryOperations) -> None:
        self._whole = whole

    def check(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[Checked]:
        self._whole.checked.append(config)
        if self._whole.check_error is not None:
            return self._whole.failed(self._whole.check_error)
        return (
            Future()
            if self._whole.check_is_stuck
            else self._whole.done(Checked(self._whole.problems, self._whole.check_notes))
        )

    def validate(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[ConfigInfos]:
        """As a task host does: the worker that serves REST has no `resolve`."""
        if self._whole.validate_error is not None:
            return self._whole.failed(self._whole.validate_error)
        if self._whole.validate_is_stuck:
            return Future()
        return self._whole.done(
            Validator(catalog(), worker_config(config_providers="file"), self._whole.resolve).validate(config)
        )

    def sample(self, config: Mapping[str, str], rows: int, timeout_s: float, asker: str) -> Future[Mapping[str, Any]]:
        if self._whole.sample_error is not None:
            return self._whole.failed(self._whole.sample_error)
        return self._whole.done({"rows": [self._whole.sampled_row] * rows, "notes": []})

    def plan(self, name: str, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[TaskPlan]:
        if self._whole.plan_error is not None:
            return self._whole.failed(self._whole.plan_error)
        tasks = [{**config, "task.id": str(number)} for number in range(int(config.get("tasks.max", "1")))]
        return self._whole.done(TaskPlan(tasks, [config["topic"]] if "topic" in config else []))
