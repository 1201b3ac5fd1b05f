"""Builds the objects that answer for the cluster on this worker, one for each subject, and starts and stops them."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Final

from connect.cluster.herder.cleanup import Cleanup
from connect.cluster.herder.connector_creation import ConnectorCreation
from connect.cluster.herder.connector_removal import ConnectorRemoval
from connect.cluster.herder.connectors import HerderConnectors
from connect.cluster.herder.dry_run import DryRun
from connect.cluster.herder.offsets import HerderOffsets
from connect.cluster.herder.reconcile import HerderDependencies, Reconciler
from connect.cluster.herder.requests import Requests
from connect.cluster.herder.tasks import HerderHistory, HerderTasks, HerderTopics
from connect.cluster.herder.trials import Asking, HerderTrials
from connect.cluster.herder.worker_state import HerderWorkerState
from connect.cluster.loop.background import Background
from connect.cluster.offsets.connector_offsets import ConnectorOffsets
from connect.cluster.offsets.sink_groups import HostsGroup, SinkGroup, WorkersGroup, needs_host
from connect.cluster.offsets.source_offsets import StoredSourceOffsets
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

PLAN_TASKS_TIMEOUT_S: Final = 60.0


class Herder:
    """Implements `Operations`, and starts and stops this worker's part in the cluster."""

    def __init__(self, worker: WorkerConfig, around: HerderDependencies) -> None:
        self._group_offsets = around.group_offsets
        self._reconciler = Reconciler(worker, around)
        self._parts = self._reconciler.parts
        loop = self._parts.loop
        self._asking = Asking(loop, self._parts.calls)
        self._background = Background(self._parts, self._has_runs)
        self._cleanup = Cleanup(self._parts, self._background, Asking(loop, self._parts.cleanup_calls).ask)
        self._requests = Requests(self._parts, self._cleanup.begin)
        self._offsets = ConnectorOffsets(
            StoredSourceOffsets(around.offset_log, self._asking.ask, self._parts.in_transactions, self._fence),
            self._group,
            around.catalog,
            lambda: self._parts.configs.snapshot,
            self._asking.ask,
            # A task that still runs would otherwise store its last offsets over those that are set.
            await_stopped=self._background.await_stopped,
        )
        removal = ConnectorRemoval(self._parts, self._requests, self._offsets, self._background)
        creation = ConnectorCreation(self._parts, self._requests, self._offsets, self._background)
        self._dry_run = DryRun(partial(self._asking.ask, "task_configs"), self._group)
        self.worker = HerderWorkerState(self._reconciler, self._requests)
        self.connectors = HerderConnectors(self._reconciler, self._requests, creation, removal)
        self.tasks = HerderTasks(self._reconciler, self._requests)
        self.topics = HerderTopics(self._parts, self._requests)
        self.offsets = HerderOffsets(self._offsets, self._requests)
        self.history = HerderHistory(self._parts)
        self.trials = HerderTrials(self._asking, self._dry_run)

    def read(self, deadline: Deadline) -> None:
        """Read the internal topics to their ends. Raise the errors of the logs; may be called again after one."""
        self._reconciler.read(deadline)

    def start(self, worker_id: str, url: str, cluster_id: str) -> None:
        """Join the group and begin to work; `read` must have read the topics before."""
        self.worker.cluster_id = cluster_id
        self._reconciler.start(worker_id, url)
        self.worker.caught_up.set()

    def write_statuses_again(self) -> None:
        """Write all known statuses again, into a status topic that was created anew."""
        self._parts.statuses.write_again()

    def wait_until_joined(self, deadline: Deadline) -> bool:
        """Wait until this worker is in the group or the deadline comes; from then on requests are answered."""
        joined = self._reconciler.wait_until_joined(deadline)
        self.worker.has_waited = True
        return joined

    def stop(self, deadline: Deadline) -> None:
        """Stop all tasks, report that, leave the group, and close everything. May be called twice."""
        if self.worker.caught_up.is_set():
            self.worker.caught_up.clear()
            self._reconciler.stop(deadline)
        self._background.close()
        self._cleanup.close()
        self._dry_run.close()
        self._offsets.close()
        self._parts.statuses.close()
        self._parts.configs.close()

    def _has_runs(self, name: str) -> bool:
        return self._reconciler.tasks.has_runs(name) or self._parts.stopping.may_run(name)

    def _group(self, name: str, config: Mapping[str, str]) -> SinkGroup:
        named = {**config, "name": name}
        return HostsGroup(self._asking.ask, named) if needs_host(named) else WorkersGroup(self._group_offsets, named)

    def _fence(self, name: str, config: Mapping[str, str]) -> Future[None]:
        begin = partial(self._reconciler.fencing.fence, name, config)
        return self._parts.loop.begin(f"shutting out zombies of connector {name}", begin)
