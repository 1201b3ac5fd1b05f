"""Shows connectors to REST and changes them: reads are answered at once, changes wait for the herder's thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from connect.cluster.herder.connector_creation import ConnectorCreation
from connect.cluster.herder.connector_removal import ConnectorRemoval
from connect.cluster.herder.reconcile import Reconciler
from connect.cluster.herder.requests import Requests
from connect.cluster.model.config_records import RestartRecord
from connect.cluster.model.connector_values import ConnectorInfo, PartitionOffset, Saved, TargetState
from connect.cluster.model.request_errors import NotFoundError
from connect.cluster.model.statuses import ConnectorStatus
from connect.runtime.task.task_id import TaskId


class HerderConnectors:
    """It answers what `Connectors` asks. Reads are answered on the caller's thread from immutable values."""

    def __init__(
        self, reconciler: Reconciler, requests: Requests, creation: ConnectorCreation, removal: ConnectorRemoval
    ) -> None:
        self._reconciler = reconciler
        self._parts = reconciler.parts
        self._requests = requests
        self._creation = creation
        self._removal = removal

    def names(self) -> Sequence[str]:
        """Return the names of all connectors."""
        return list(self._parts.configs.snapshot.connectors)

    def info(self, name: str) -> ConnectorInfo:
        """Return the configuration and tasks of a connector. NotFoundError: there is no such connector."""
        return self._parts.info(name)

    def status(self, name: str) -> ConnectorStatus:
        """Return the states of a connector and its tasks. NotFoundError: no worker has written a status yet."""
        status = self._parts.statuses.connector(name)
        snapshot = self._parts.configs.snapshot
        config = snapshot.connectors.get(name)
        if status is None or config is None:
            raise NotFoundError(f"No status found for connector {name}")
        tasks = {n: s for n, s in self._parts.statuses.tasks(name).items() if snapshot.has_task(TaskId(name, n))}
        return ConnectorStatus(name, status, tasks, self._parts.catalog.kind(config))

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial_state: TargetState | None,
        who: str = "rest",
        initial_offsets: Sequence[PartitionOffset] | None = None,
    ) -> Future[Saved]:
        """Create a connector; see `Connectors.create`."""
        if initial_offsets is not None:
            return self._creation.create(name, config, initial_state, initial_offsets, who)
        step = partial(self._requests.create, name, config, initial_state, who)
        return self._parts.loop.submit(f"creating connector {name}", step)

    def save(
        self, name: str, config: Mapping[str, str], who: str = "rest", *, instead_of: Mapping[str, str] | None = None
    ) -> Future[Saved]:
        """Store the configuration of a new or an existing connector; see `Connectors.save`."""
        step = partial(self._requests.save, name, config, who, instead_of)
        return self._parts.loop.submit(f"writing the configuration of connector {name}", step)

    def delete(self, name: str) -> Future[None]:
        """Remove a connector."""
        return self._parts.loop.submit(f"deleting connector {name}", partial(self._requests.delete, name))

    def delete_with_offsets(self, name: str) -> Future[None]:
        """Stop a connector, forget its offsets, remove it."""
        return self._removal.remove(name)

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        """Pause, resume or stop a connector."""
        step = partial(self._requests.set_target, name, target)
        return self._parts.loop.submit(f"setting the target state of connector {name} to {target}", step)

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Future[ConnectorStatus]:
        """Restart a connector, its tasks or only the failed ones, as the flags say."""
        step = partial(self._requests.restart, RestartRecord(name, include_tasks, only_failed))
        return self._parts.loop.submit(f"restarting connector {name}", step)

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the connector itself."""

        def begin() -> Future[None]:
            self._requests.check_connector(name)
            self._reconciler.fencing.again(name)
            return self._reconciler.connectors.restart(name)

        return self._parts.loop.begin(f"restarting connector {name}", begin)
