"""Shows REST the tasks of connectors, the topics that they used, and the history of configurations and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from connect.cluster.herder.reconcile import Reconciler
from connect.cluster.herder.requests import Requests
from connect.cluster.loop.herder_parts import HerderParts, connector_config
from connect.cluster.model import config_history
from connect.cluster.model.history import ConfigVersion, Rebalance, StateChange
from connect.runtime.task.task_id import TaskId


class HerderTasks:
    """It answers what `Tasks` asks. Reads are answered on the caller's thread from immutable values."""

    def __init__(self, reconciler: Reconciler, requests: Requests) -> None:
        self._reconciler = reconciler
        self._parts = reconciler.parts
        self._requests = requests

    def configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """Return the configurations of a connector's tasks."""
        snapshot = self._parts.configs.snapshot
        connector_config(snapshot, name)
        return snapshot.tasks.get(name, {})

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return the last metrics of this worker's tasks."""
        restarts = self._reconciler.tasks.restarts()
        return {
            name: {**found, "restarts_total": float(restarts.get(name, 0))}
            for name, found in self._parts.supervisor.figures().items()
        }

    def restart(self, task: TaskId) -> Future[None]:
        """Restart one task."""

        def begin() -> Future[None]:
            self._requests.check_task(task, owned=self._reconciler.tasks.owns(task))
            self._reconciler.fencing.again(task.connector)
            return self._reconciler.tasks.restart_awaited(task)

        return self._parts.loop.begin(f"restarting task {task}", begin)


class HerderTopics:
    """It answers what `UsedTopics` asks from the status topic."""

    def __init__(self, parts: HerderParts, requests: Requests) -> None:
        self._parts = parts
        self._requests = requests

    def used(self, name: str) -> Sequence[str]:
        """Return the topics the connector used since they were reset."""
        return sorted(self._parts.statuses.topics(name))

    def reset(self, name: str) -> Future[None]:
        """Forget the topics the connector used."""
        step = partial(self._requests.reset_topics, name)
        return self._parts.loop.submit(f"resetting the topics of connector {name}", step)


class HerderHistory:
    """It answers what `History` asks from the internal topics."""

    def __init__(self, parts: HerderParts) -> None:
        self._parts = parts

    def config_versions(self, name: str) -> Sequence[ConfigVersion]:
        """Return the last configurations of a connector."""
        snapshot = self._parts.configs.snapshot
        connector_config(snapshot, name)
        return config_history.versions(name, snapshot)

    def state_changes(self, name: str) -> Sequence[StateChange]:
        """Return the last changes of state of a connector and its tasks."""
        connector_config(self._parts.configs.snapshot, name)
        return self._parts.statuses.state_changes(name)

    def rebalances(self) -> Sequence[Rebalance]:
        """Return the last rebalances."""
        return self._parts.statuses.rebalances()

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the alerts that were told, after reading the status topic to its end."""
        self._parts.statuses.refresh()
        return self._parts.statuses.told_alerts()

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        """Remember an alert that was told; None forgets it."""
        self._parts.statuses.remember_alert(key, members)
