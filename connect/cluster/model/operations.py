"""What the REST layer may ask of a cluster. The herder answers; REST knows nothing else of it. Values only, no I/O.

Every call that changes something returns a Future: REST waits for it without blocking its event loop and names the
herder's current stage when it takes too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from connect.cluster.model.validation_infos import ConfigInfos
from connect.runtime.task.condition import Condition
from connect.runtime.task.messages import State, TaskId


class TargetState(StrEnum):
    """What a connector should be; the text is `state.v2` of the config topic."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class RequestError(Exception):
    """A request that cannot be done: the HTTP status and Kafka Connect's own wording."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class NotFoundError(RequestError):
    """404: the thing named does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(404, message)


class NotLeaderError(RequestError):
    """Only the leader may do this. `leader_url` is where to send the request; None while nobody leads (409)."""

    def __init__(self, leader_url: str | None) -> None:
        super().__init__(409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
        self.leader_url = leader_url


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector as REST shows it; `config` is raw and always holds `name`. `type` is source, sink or unknown."""

    name: str
    config: Mapping[str, str]
    tasks: Sequence[TaskId]
    type: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a connector or of a task, as the status topic holds it.

    `version`: the plug-in's. `condition`: why it does not move; None where it does, or where nothing is known.
    """

    state: State
    worker_id: str
    trace: str | None = None
    generation: int = 0
    version: str | None = None
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class OverdueTask:
    """A task that should run and does not; `since_ms`: epoch milliseconds when this worker first saw that."""

    task: TaskId
    reason: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector's state and its tasks', sorted by task."""

    name: str
    connector: Status
    tasks: Mapping[int, Status] = field(default_factory=dict)
    type: str = "unknown"


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of storing a configuration."""

    created: bool
    info: ConnectorInfo
    offsets_whole: bool | None = None
    """Initial offsets were set, and they are all the connector has; False: not known. None: none were given."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the herder does now, or did last (`finished_ms` set); times are epoch milliseconds."""

    description: str
    started_ms: int
    finished_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """Where a connector stands in one partition of its source or topic. `offset` None: nothing stored, or forget it.

    A sink's maps are `{"kafka_topic", "kafka_partition"}` and `{"kafka_offset"}`.
    """

    partition: Mapping[str, object]
    offset: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What a configuration would lead to: its tasks' configurations, and the topics it names that do not exist."""

    tasks: Sequence[Mapping[str, str]]
    new_topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class Author:
    """Who changed something, as the request says it (address and program), and when, in epoch milliseconds."""

    who: str
    changed_ms: int


@dataclass(frozen=True, slots=True, repr=False)
class ConfigVersion:
    """A configuration that a connector had or has; `config` is raw. No author: it was not written through REST here."""

    version: int
    config: Mapping[str, str]
    author: Author | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state that a connector (`task` None) or a task came into; `number` counts its changes."""

    number: int
    task: int | None
    status: Status
    changed_ms: int


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The workers that were there after work was shared anew, sorted, by `host:port`; `number` counts rebalances."""

    number: int
    generation: int
    leader: str
    workers: Sequence[str]
    changed_ms: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What a connector found in its configuration: messages by key, none if all is well, and notes of what works in
    part alone."""

    problems: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()


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
        """Store a new, already validated configuration. RequestError 409 when the name is taken.

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

        RequestError 500: it could not be built; 409: it was given to another worker meanwhile.
        """

    def topics(self, name: str) -> Sequence[str]:
        """Topics the connector used since they were reset."""

    def reset_topics(self, name: str) -> Future[None]:
        """Forget the topics the connector used."""

    def offsets(self, name: str) -> Future[Sequence[PartitionOffset]]:
        """Where a connector stands. NotFoundError "Connector X not found"."""

    def alter_offsets(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[bool]:
        """Set these partitions' offsets, None forgets one. True: the connector keeps no offsets elsewhere.

        RequestError 400: not STOPPED, or an offset of a wrong shape. NotFoundError.
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
