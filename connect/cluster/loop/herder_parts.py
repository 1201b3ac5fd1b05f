"""Holds what the herder's parts share: stores, this worker's name, and rules about configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from connect.cluster.hosts.supervisor import Supervisor
from connect.cluster.loop.connector_calls import ConnectorCalls
from connect.cluster.loop.event_loop import EventLoop
from connect.cluster.loop.membership import Membership
from connect.cluster.loop.stopping_tasks import StoppingTasks
from connect.cluster.model.auto_restart import RestartPolicy
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.connector_values import ConnectorInfo
from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.model.statuses import Status
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.status_store import StatusStore
from connect.lib.placeholders import placeholder_spans
from connect.runtime.task.condition import Condition
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

Kind = Literal["source", "sink", "unknown"]


class ConnectorCatalog(Protocol):
    """Answers the herder's questions about plug-ins from their declarations, without loading a connector."""

    def kind(self, config: Mapping[str, str]) -> Kind:
        """Return the kind of the connector that a configuration names."""

    def version(self, config: Mapping[str, str]) -> str | None:
        """Return the version of the plug-in that a configuration names."""

    def task_class(self, config: Mapping[str, str]) -> str | None:
        """Return the `task.class` that Kafka Connect would write; None for an unknown class."""

    def keeps_no_offsets(self, config: Mapping[str, str]) -> bool:
        """Return True if the connector keeps no offsets of its own beside those that the framework keeps."""

    def cleans_up(self, config: Mapping[str, str]) -> bool:
        """Return True if the connector has to be called when it is deleted, to clean up."""

    def asked_addresses(self, config: Mapping[str, str]) -> str:
        """Return the keys and addresses that the connector asks, without secrets; empty: it declares none."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds the limits that the herder keeps to: of time, of restarts, and of the size of a record."""

    stop_s: float
    plan_tasks_s: float
    restarts: RestartPolicy
    config_max_bytes: int
    """No record of a configuration may be larger, so that those of its tasks and of its history fit as well."""


@dataclass(slots=True)
class HerderParts:
    """Holds the herder's parts; they live as long as the worker. `worker_id` is host:port, known once REST listens."""

    loop: EventLoop
    configs: ConfigStore
    statuses: StatusStore
    membership: Membership
    supervisor: Supervisor
    calls: ConnectorCalls
    cleanup_calls: ConnectorCalls
    """Clean-ups run in a host of their own: if one hangs and the host is killed, no other question is lost."""
    catalog: ConnectorCatalog
    limits: Limits
    stopping: StoppingTasks
    in_transactions: Callable[[Mapping[str, str]], bool]
    """It tells if a source of this configuration writes rows and offsets in transactions on this worker."""
    worker_id: str = ""

    def status(
        self,
        state: State,
        config: Mapping[str, str],
        trace: str | None = None,
        condition: Condition | None = None,
    ) -> Status:
        """Return a status in the name of this worker, with its generation and the connector's version."""
        generation = self.membership.view.generation
        return Status(state, self.worker_id, trace, generation, self.catalog.version(config), condition)

    def awaits_fencing(self, snapshot: ConfigSnapshot, name: str) -> bool:
        """Return True if the connector's tasks must wait until those of its former configuration are fenced."""
        config = snapshot.applied.get(name)
        if config is None or name not in snapshot.unfenced or self.catalog.kind(config) != "source":
            return False
        return self.in_transactions(config)

    def publication(self, snapshot: ConfigSnapshot, name: str) -> int:
        """Return the publication of the connector's tasks that a run has to belong to.

        It may have been stopped and resumed, or changed and changed back, between two looks of this worker. Runs of a
        source in transactions end with each publication, as the leader shuts out their producers then.
        """
        config = snapshot.applied[name]
        is_fenced = self.catalog.kind(config) == "source" and self.in_transactions(config)
        return (snapshot.committed if is_fenced else snapshot.published).get(name, 0)

    def info(self, name: str) -> ConnectorInfo:
        """Return a connector as REST shows it. NotFoundError: there is no such connector."""
        snapshot = self.configs.snapshot
        config = connector_config(snapshot, name)
        tasks = [TaskId(name, number) for number in snapshot.tasks.get(name, {})]
        return ConnectorInfo(name, config, tasks, self.catalog.kind(config), snapshot.target(name))


def connector_config(snapshot: ConfigSnapshot, name: str) -> Mapping[str, str]:
    """Return a connector's configuration. NotFoundError: there is no such connector."""
    config = snapshot.connectors.get(name)
    if config is None:
        raise NotFoundError(f"Connector {name} not found")
    return config


def with_placeholders(
    task_configs: Sequence[Mapping[str, str]], connector: Mapping[str, str]
) -> list[Mapping[str, str]]:
    """Return task configurations with the connector's own text for each key whose text there has a `${…}`.

    So no value of a config provider is stored.
    """
    raw = {key: value for key, value in connector.items() if next(placeholder_spans(value), None)}
    return [{k: raw.get(k, v) for k, v in config.items()} for config in task_configs]
