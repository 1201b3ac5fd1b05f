"""Declares what REST may ask of a cluster. The herder implements it, and REST knows the herder only through it.

Every call that changes something returns a Future. REST waits for it without blocking its event loop, and names the
present stage of the herder if it takes too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from connect.api.connector import AlteredOffsets
from connect.cluster.model.connector_values import Checked, ConnectorInfo, PartitionOffset, Saved, TargetState, TaskPlan
from connect.cluster.model.history import ConfigVersion, Rebalance, StateChange
from connect.cluster.model.statuses import ConnectorStatus, OverdueTask, Stage
from connect.cluster.model.validation_infos import ConfigInfos
from connect.runtime.task.task_id import TaskId


class WorkerState(Protocol):
    """Tells how this worker fares, and what all workers are to know."""

    @property
    def kafka_cluster_id(self) -> str:
        """Return the id of the Kafka cluster; empty before the first contact."""

    @property
    def session_key(self) -> str:
        """Return the key from the config topic that only workers of the cluster know; empty while there is none."""

    @property
    def stage(self) -> Stage:
        """Return the step that the herder's thread is at, for time-out messages."""

    @property
    def started(self) -> bool:
        """Return True once the worker has read its internal topics and takes requests."""

    @property
    def is_ready(self) -> bool:
        """Return True while the worker has read its internal topics and has a place in the group."""

    def require_leader(self) -> None:
        """Raise NotLeaderError if this worker, as far as it knows, does not lead; REST then forwards the request."""

    @property
    def is_out(self) -> bool:
        """Return True if the worker has lost its place in the group, and with it its tasks."""

    @property
    def is_cut_off(self) -> bool:
        """Return True if Kafka does not hear this worker, so that its tasks have ended."""

    @property
    def kafka_trouble(self) -> str | None:
        """Return why the brokers were last not reached; None if they are reached, as far as is known."""

    @property
    def overdue_tasks(self) -> Sequence[OverdueTask]:
        """Return tasks of the cluster that should run and have not for `task.overdue.ms`, as this worker sees it."""

    @property
    def leader(self) -> str:
        """Return the worker that leads, as `host:port`; empty while none is known."""

    def figures(self) -> Mapping[str, float]:
        """Return this worker's own figures, by their names in `connect.telemetry`."""

    def expect_work(self) -> None:
        """Prepare for work, as a request has come. Returns at once."""

    def ping(self) -> Future[None]:
        """Return a future that is done when the herder thread gets to it: the worker is healthy."""

    def catch_up(self) -> Future[None]:
        """Return a future that is done when this worker has read the config topic to its end. The log's errors."""

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        """Set a logger's level on every worker; `level` is one of `connect.telemetry.log_levels.LEVELS`."""


class Connectors(Protocol):
    """Answers about connectors by their names, and changes them."""

    def names(self) -> Sequence[str]:
        """Return the names of all connectors."""

    def info(self, name: str) -> ConnectorInfo:
        """Return a connector. NotFoundError: no connector has this name."""

    def status(self, name: str) -> ConnectorStatus:
        """Return a connector's state. NotFoundError: no worker has written a status yet."""

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial_state: TargetState | None,
        who: str = "rest",
        initial_offsets: Sequence[PartitionOffset] | None = None,
    ) -> Future[Saved]:
        """Store a new, already validated configuration. ConflictError when the name is taken.

        `initial_offsets` replace the offsets that are stored under the name. RequestError: that is not possible, and
        nothing is created.
        """

    def save(
        self, name: str, config: Mapping[str, str], who: str = "rest", *, instead_of: Mapping[str, str] | None = None
    ) -> Future[Saved]:
        """Store a validated configuration, new or changed; `who` goes into its history.

        `instead_of` is the configuration from which this one was computed. ChangedMeanwhileError: at the moment of
        writing the connector has another one, or is deleted.
        """

    def delete(self, name: str) -> Future[None]:
        """Remove a connector. NotFoundError."""

    def delete_with_offsets(self, name: str) -> Future[None]:
        """Stop a connector, forget its offsets, remove it. NotFoundError.

        RequestError: its offsets cannot be deleted; the connector is stopped then, but not deleted.
        """

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        """Pause, resume or stop a connector. NotFoundError "Unknown connector X"."""

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Future[ConnectorStatus]:
        """Restart a connector or tasks as the flags say; the answer shows them as RESTARTING. NotFoundError."""

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the connector itself, not its tasks. NotFoundError."""


class Tasks(Protocol):
    """Answers about the tasks of connectors, and restarts them."""

    def configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """Return the configurations of a connector's tasks. NotFoundError."""

    def restart(self, task: TaskId) -> Future[None]:
        """Restart one task. The future is done when the new run is built, not when it runs. NotFoundError.

        FailedRequestError: the run could not be built. ConflictError: another worker got the task meanwhile.
        """

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return the last metrics of this worker's tasks, by `name-0`."""


class UsedTopics(Protocol):
    """Knows the topics that connectors used."""

    def used(self, name: str) -> Sequence[str]:
        """Return the topics the connector used since they were reset."""

    def reset(self, name: str) -> Future[None]:
        """Forget the topics the connector used."""


class Offsets(Protocol):
    """Reads and sets where connectors stand in their sources or topics."""

    def read(self, name: str) -> Future[Sequence[PartitionOffset]]:
        """Return where a connector stands. NotFoundError "Connector X not found"."""

    def alter(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[AlteredOffsets]:
        """Set offsets of partitions; None deletes one. The answer tells if the connector keeps no others elsewhere.

        BadRequestError: the connector is not STOPPED, or an offset has a wrong shape. NotFoundError.
        """

    def unknown(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[Sequence[PartitionOffset]]:
        """Return those of the offsets that `alter` would refuse, as the partitions of topics do not exist.

        BadRequestError: an offset has a wrong shape. NotFoundError.
        """

    def reset(self, name: str) -> Future[bool]:
        """Delete all offsets of a connector. The result and errors are those of `alter`."""


class History(Protocol):
    """Knows the past configurations and states of connectors, and the past groups of workers."""

    def config_versions(self, name: str) -> Sequence[ConfigVersion]:
        """Return the last configurations of a connector, oldest first, the present one included. NotFoundError."""

    def state_changes(self, name: str) -> Sequence[StateChange]:
        """Return the last changes of state of a connector and its tasks, oldest first. NotFoundError."""

    def rebalances(self) -> Sequence[Rebalance]:
        """Return the last rebalances of the group of workers, oldest first."""

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the remembered members of told alerts, by their keys. It blocks. The log's errors."""

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        """Remember an alert that was told, for all workers; None forgets it. Returns at once."""


class Trials(Protocol):
    """Asks a connector in a task host what a configuration would do; nothing is stored.

    `asker` names who asks. If the questions of one asker take long, those of others do not wait for them.
    """

    def check(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[Checked]:
        """Let the connector try in a task host if it reaches its systems and has the rights that it needs."""

    def validate(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[ConfigInfos]:
        """Let a task host validate a configuration with the values of config providers, see `Validator.validate`.

        ConnectError: the host died, or a provider did not answer in time.
        """

    def sample(self, config: Mapping[str, str], rows: int, timeout_s: float, asker: str) -> Future[Mapping[str, Any]]:
        """Return live rows of a connector before and after each transform, see `connect.runtime.calls.sample_calls`.

        ConnectError: the rows cannot be read; the text says why.
        """

    def plan(self, name: str, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[TaskPlan]:
        """Ask the connector for its tasks, and Kafka which topics are missing; nothing is stored or created.

        RequestError: the connector plans no tasks; the text says why. ConnectError: Kafka does not answer.
        """


class Operations(Protocol):
    """Gives access to a cluster of workers through one of them, by subject.

    Reads answer at once from the records that this worker has read so far.
    """

    @property
    def worker(self) -> WorkerState:
        """Tells how this worker fares, and what all workers are to know."""

    @property
    def connectors(self) -> Connectors:
        """Answers about connectors by their names, and changes them."""

    @property
    def tasks(self) -> Tasks:
        """Answers about the tasks of connectors, and restarts them."""

    @property
    def topics(self) -> UsedTopics:
        """Knows the topics that connectors used."""

    @property
    def offsets(self) -> Offsets:
        """Says and sets where connectors stand in their sources or topics."""

    @property
    def history(self) -> History:
        """Knows earlier versions of configurations, earlier states, and which workers were there."""

    @property
    def trials(self) -> Trials:
        """Asks a connector in a task host what a configuration would do; nothing is stored."""
