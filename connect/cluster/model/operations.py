"""What the REST layer may ask of a cluster. The herder answers; REST knows nothing else of it. Values only, no I/O.

Every call that changes something returns a Future: REST waits for it without blocking its event loop and names the
herder's current stage when it takes too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from connect.cluster.model.connector_values import Checked, ConnectorInfo, PartitionOffset, Saved, TargetState, TaskPlan
from connect.cluster.model.history import ConfigVersion, Rebalance, StateChange
from connect.cluster.model.statuses import ConnectorStatus, OverdueTask, Stage
from connect.cluster.model.validation_infos import ConfigInfos
from connect.runtime.task.task_id import TaskId


class Operations(Protocol):
    """A cluster of workers, seen from one of them. Reads answer at once from what this worker has read so far."""

    @property
    def kafka_cluster_id(self) -> str:
        """The id of the Kafka cluster; empty before the first contact."""

    @property
    def session_key(self) -> str:
        """What only workers of the cluster know, from the config topic; empty while there is none."""

    @property
    def stage(self) -> Stage:
        """What the herder thread is doing, for time-out messages."""

    @property
    def started(self) -> bool:
        """The worker has read its internal topics and takes requests."""

    def require_leader(self) -> None:
        """NotLeaderError, as far as this worker knows: REST then forwards instead of checking a configuration twice."""

    @property
    def is_out(self) -> bool:
        """The worker lost its place in the group, and with it its tasks."""

    @property
    def is_cut_off(self) -> bool:
        """Kafka does not hear this worker, so its tasks have ended."""

    @property
    def kafka_trouble(self) -> str | None:
        """Why the brokers were last not reached, in words; None when they are, as far as is known."""

    @property
    def overdue_tasks(self) -> Sequence[OverdueTask]:
        """Tasks of the cluster that should run and have not for `task.overdue.ms`, as this worker sees it."""

    def expect_work(self) -> None:
        """Somebody asks for something: prepare for more. Returns at once."""

    def ping(self) -> Future[None]:
        """Done when the herder thread gets to it: the worker is healthy."""

    def catch_up(self) -> Future[None]:
        """Done when this worker knows all that is in the config topic now. The log's errors."""

    def connectors(self) -> Sequence[str]:
        """The names of all connectors."""

    def info(self, name: str) -> ConnectorInfo:
        """NotFoundError: there is no such connector."""

    def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The configurations of a connector's tasks. NotFoundError."""

    def status(self, name: str) -> ConnectorStatus:
        """NotFoundError: no worker has written a status yet."""

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial_state: TargetState | None,
        who: str = "rest",
        initial_offsets: Sequence[PartitionOffset] | None = None,
    ) -> Future[Saved]:
        """Store a new, already validated configuration. ConflictError when the name is taken.

        `initial_offsets` replace what is stored under the name; RequestError when they cannot, and nothing is created.
        """

    def save(self, name: str, config: Mapping[str, str], who: str = "rest") -> Future[Saved]:
        """Store a validated configuration, new or changed; `who` goes into its history."""

    def config_versions(self, name: str) -> Sequence[ConfigVersion]:
        """The last configurations of a connector, oldest first; the last one is the present. NotFoundError."""

    def state_changes(self, name: str) -> Sequence[StateChange]:
        """The last changes of state of a connector and its tasks, oldest first. NotFoundError."""

    def rebalances(self) -> Sequence[Rebalance]:
        """The last rebalances of the group of workers, oldest first."""

    def delete(self, name: str) -> Future[None]:
        """Remove a connector. NotFoundError."""

    def delete_with_offsets(self, name: str) -> Future[None]:
        """Stop a connector, forget its offsets, remove it. NotFoundError.

        RequestError when its offsets cannot be forgotten: it is stopped then, but still there.
        """

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        """Pause, resume or stop. NotFoundError "Unknown connector X"."""

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Future[ConnectorStatus]:
        """Restart what the flags select; the answer shows it as RESTARTING. NotFoundError."""

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the connector itself, not its tasks. NotFoundError."""

    def restart_task(self, task: TaskId) -> Future[None]:
        """Restart one task; done when the new run is built, not when it runs. NotFoundError.

        FailedRequestError: it could not be built. ConflictError: it was given to another worker meanwhile.
        """

    def topics(self, name: str) -> Sequence[str]:
        """Topics the connector used since they were reset."""

    def reset_topics(self, name: str) -> Future[None]:
        """Forget the topics the connector used."""

    def offsets(self, name: str) -> Future[Sequence[PartitionOffset]]:
        """Where a connector stands. NotFoundError "Connector X not found"."""

    def alter_offsets(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[bool]:
        """Set these partitions' offsets, None forgets one. True: the connector keeps no offsets elsewhere.

        BadRequestError: not STOPPED, or an offset of a wrong shape. NotFoundError.
        """

    def reset_offsets(self, name: str) -> Future[bool]:
        """Forget all offsets of a connector; see `alter_offsets`."""

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        """Set a logger's level on every worker; `level` is one of `connect.telemetry.log_levels.LEVELS`."""

    def check(self, config: Mapping[str, str], timeout_s: float) -> Future[Checked]:
        """Let the connector try reach and rights in a task host."""

    def validate(self, config: Mapping[str, str], timeout_s: float) -> Future[ConfigInfos]:
        """Let a task host validate a configuration with the values of config providers, see `Validator.validate`.

        ConnectError: the host died, or a provider did not answer in time.
        """

    def plan(self, name: str, config: Mapping[str, str], timeout_s: float) -> Future[TaskPlan]:
        """Ask the connector for its tasks, and Kafka which topics are missing; nothing is stored or made.

        RequestError: the connector plans no tasks, and why. ConnectError: Kafka does not answer.
        """

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """The last metrics of this worker's tasks, by `name-0`."""
