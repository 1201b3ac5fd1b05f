"""The shapes of bodies and answers that Kafka Connect's own resources have. The OpenAPI document is made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

Config = dict[str, str]
State = Literal["UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING"]
ConnectorType = Literal["source", "sink", "unknown"]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Notes = Annotated[
    list[str],
    Field(description="What is worth knowing of a configuration that is right; not there where nothing is."),
]


class Error(TypedDict):
    """What every request is answered that fails."""

    error_code: int
    message: str | None


class Server(TypedDict):
    """The worker that answers."""

    version: str
    commit: str
    kafka_cluster_id: str


class OverdueTask(TypedDict):
    """A task that should run and does not."""

    connector: str
    task: int
    reason: str
    since_ms: int


class Health(TypedDict):
    """How the worker that answers fares."""

    status: Literal["healthy", "starting", "unhealthy"]
    message: str
    overdue_tasks: NotRequired[list[OverdueTask]]


class Readiness(TypedDict):
    """Tells if the worker that answers takes part in its cluster."""

    status: Literal["ready", "not ready"]
    message: str


class Offset(TypedDict):
    """Where a connector stands in one partition of its source, or of a topic."""

    partition: dict[str, Any]
    offset: NotRequired[dict[str, Any] | None]


class Offsets(TypedDict):
    """All that a connector has stored of where it stands."""

    offsets: list[Offset]


class CreateConnector(TypedDict):
    """A connector that is to be stored."""

    name: NotRequired[str]
    config: Config
    initial_state: NotRequired[Literal["RUNNING", "PAUSED", "STOPPED"]]
    initial_offsets: NotRequired[list[Offset]]


class Task(TypedDict):
    """The connector that a task belongs to, and the number that it has there."""

    connector: str
    task: int


class Connector(TypedDict):
    """A connector as it is stored."""

    name: str
    config: Config
    tasks: list[Task]
    type: ConnectorType
    offsets_status: NotRequired[
        Annotated[str, Field(description="What became of initial_offsets; only where they were given.")]
    ]


class _Run(TypedDict):
    state: State
    worker_id: str
    trace: NotRequired[str]
    version: NotRequired[str]
    reason: NotRequired[Annotated[str, Field(description="Why it does not move; not there while rows move.")]]
    since: NotRequired[Moment]
    waiting_for: NotRequired[Literal["source", "sink", "kafka", "converter", "rows", "budget", "restart", "person"]]
    retrying_since: NotRequired[Moment]
    next_attempt: NotRequired[Moment]


class ConnectorState(_Run):
    """The state that a connector has, its tasks apart."""


class TaskState(_Run):
    """The state that a task has."""

    id: int


class Status(TypedDict):
    """The states that a connector and its tasks have."""

    name: str
    connector: ConnectorState
    tasks: list[TaskState]
    type: ConnectorType
    notes: NotRequired[Notes]


class Expanded(TypedDict):
    """The parts of a connector that `expand` can ask for."""

    status: NotRequired[Status]
    info: NotRequired[Connector]


class TaskConfig(TypedDict):
    """The configuration that a task runs with."""

    id: Task
    config: Config


class UsedTopics(TypedDict):
    """The topics that a connector has used."""

    topics: list[str]


class Message(TypedDict):
    """What was done, in words."""

    message: str


PluginInfo = TypedDict(
    "PluginInfo",
    {
        "class": str,
        "type": Literal["source", "sink", "transformation", "predicate", "converter", "header_converter"],
        "version": NotRequired[str],
    },
)
"""A plug-in that is installed."""


class Definition(TypedDict):
    """A key that a plug-in knows."""

    name: str
    type: Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
    required: bool
    default_value: str | None
    importance: Literal["HIGH", "MEDIUM", "LOW"]
    documentation: str
    group: str | None
    width: Literal["NONE", "SHORT", "MEDIUM", "LONG"]
    display_name: str
    dependents: list[str]
    order: int


class Value(TypedDict):
    """A value that a key has, and what is wrong with it."""

    name: str
    value: str | None
    recommended_values: list[str]
    errors: list[str]
    visible: bool


class CheckedKey(TypedDict):
    """A key of a configuration; without a definition where nobody knows it."""

    definition: Definition | None
    value: Value


Change = TypedDict("Change", {"from": str, "to": str})
"""A value that was changed, as it was and as it is."""


class Changes(TypedDict):
    """The keys in which two configurations are not equal."""

    added: NotRequired[Config]
    changed: NotRequired[dict[str, Change]]
    removed: NotRequired[Config]


class Validation(TypedDict):
    """A configuration that was checked key by key; a dry run also tells what would come of it."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[CheckedKey]
    notes: NotRequired[Notes]
    changes: NotRequired[Changes]
    tasks: NotRequired[list[Config] | None]
    new_topics: NotRequired[list[str] | None]
    plan_error: NotRequired[str | None]


class Logger(TypedDict):
    """The level that a logger has."""

    level: str
    last_modified: int | None


class Level(TypedDict):
    """The level that a logger is to have."""

    level: Literal["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"]
