"""What a worker process and its task hosts say to each other: JSON lines over a socket pair. Values only, no I/O.

Worker -> host: WarmUp, StartTask, StopTask, SetPaused, SetLogLevel, MayWrite, TellFigures, Call.
Host -> worker: HostReady, Heartbeat, TaskBuilt, TaskState, TaskCondition, TopicsUsed, AsksToWrite, CallResult, Figures,
LoggersKnown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from connect.api.errors import ConfigProblem
from connect.runtime.task.condition import Condition
from connect.runtime.task.state import State

Method = Literal[
    "check", "task_configs", "alter_offsets", "clean_up", "read_offsets", "write_offsets", "fence", "validate",
    "list_topics", "read_group", "alter_group", "delete_group", "hide", "sample",
]  # fmt: skip
"""What a Call asks for: the first four of the connector itself, the others of the framework with its settings."""


@dataclass(frozen=True, slots=True)
class StartTask:
    """Run a task. `run` tells runs of one task apart; configs are raw (placeholders of config providers unresolved)."""

    connector: str
    task: int
    run: int
    kind: Literal["source", "sink"]
    connector_config: Mapping[str, str]
    task_config: Mapping[str, str]
    paused: bool = False


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Connect to Kafka before the first task comes."""


@dataclass(frozen=True, slots=True)
class StopTask:
    """Stop a task inside `timeout_s`; answered by TaskState(state=None)."""

    connector: str
    task: int
    run: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class SetPaused:
    """Pause or resume a task."""

    connector: str
    task: int
    run: int
    paused: bool


@dataclass(frozen=True, slots=True)
class SetLogLevel:
    """Log at this level, one of `connect.telemetry.log_levels.LEVELS`; `root` is all loggers."""

    logger: str
    level: str


@dataclass(frozen=True, slots=True)
class TellFigures:
    """Ask for the figures of all runs. Answered by Figures with the same number, or with that of a later question."""

    number: int


@dataclass(frozen=True, slots=True)
class AsksToWrite:
    """The run has taken its transactional id, which shuts out its predecessors: is it still wanted, or a zombie itself?

    Answered by MayWrite, once the worker has read the config topic to its end.
    """

    connector: str
    task: int
    run: int


@dataclass(frozen=True, slots=True)
class MayWrite:
    """The answer to AsksToWrite; `refusal` says why not, None: go on."""

    connector: str
    task: int
    run: int
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Ask a connector something that may touch the outside world. Answered by CallResult with the same id.

    `positions` is for alter_offsets and write_offsets: pairs of source partition and offset (None: reset). The value of
    alter_offsets is what the connector answered as a list of `is_whole`, False also from one that has no say in its
    offsets, and notes; that of
    read_offsets are such pairs. `count` is for fence and sample: the producers of so many tasks are shut out, so
    many rows are shown. For alter_group and
    as the value of read_group the pairs are `{"topic", "partition"}` and `{"offset"}`. The value of hide are the given
    pairs without the configuration's secrets.
    """

    id: int
    method: Method
    config: Mapping[str, str]
    timeout_s: float
    positions: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class HostReady:
    """The first message of a host, once it is up."""

    pid: int


@dataclass(frozen=True, slots=True)
class TaskBuilt:
    """The configuration of a run is right, its converters, transforms and clients are there; next it is opened."""

    connector: str
    task: int
    run: int


@dataclass(frozen=True, slots=True)
class TaskState:
    """Tells a run's new state. `state` None: the run has ended as it was asked to. `trace` goes with FAILED.

    `retriable`: the failure may go away by itself, so a restart makes sense. `topics`: topics used since the last word.
    """

    connector: str
    task: int
    run: int
    state: State | None
    trace: str | None = None
    retriable: bool = False
    reason: str | None = None
    """Holds, with FAILED, the error in one line."""


@dataclass(frozen=True, slots=True)
class TaskCondition:
    """What holds a run up that is in this state; None: nothing, its rows move again."""

    connector: str
    task: int
    run: int
    state: State
    condition: Condition | None


@dataclass(frozen=True, slots=True)
class TopicsUsed:
    """Tells the topics that a task wrote to or read from for the first time."""

    connector: str
    task: int
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class CallResult:
    """The answer to a Call: a value (task_configs: a list of maps, check: a list of notes, clean_up: what stays),
    `problems` (broken keys), or `error` and trace.

    `again_s`: with task_configs, how long the answer is good for; None: as long as the configuration. `retriable`: what
    went wrong may go away by itself.
    """

    id: int
    value: Any = None
    problems: Sequence[ConfigProblem] = ()
    error: str | None = None
    trace: str | None = None
    again_s: float | None = None
    retriable: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Tells the metrics of the host's tasks since their start: `figures["name-0"][metric] = value`, and of the process
    itself.
    """

    tasks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    process: Mapping[str, float] = field(default_factory=dict)
    number: int = 0
    """It is that of the TellFigures that is answered."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The host lives: said each second, as the worker takes a host that says nothing for a dead one."""


@dataclass(frozen=True, slots=True)
class LoggersKnown:
    """Tells the names of the host's loggers."""

    names: Sequence[str]


ToHost = WarmUp | StartTask | StopTask | SetPaused | SetLogLevel | MayWrite | TellFigures | Call
ToWorker = (
    HostReady
    | Heartbeat
    | TaskBuilt
    | TaskState
    | TaskCondition
    | TopicsUsed
    | AsksToWrite
    | CallResult
    | Figures
    | LoggersKnown
)
Message = ToHost | ToWorker
_KINDS = {cls.__name__: cls for cls in (*get_args(ToHost), *get_args(ToWorker))}


def encode(message: Message) -> bytes:
    """Return the message as one line of JSON, newline included."""
    # Figures are thousands of numbers, and asdict copies each: twice the time of all else.
    members = (
        {f.name: getattr(message, f.name) for f in fields(message)} if isinstance(message, Figures) else asdict(message)
    )
    return json.dumps({"message": type(message).__name__, **members}).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message of a line. Raise ValueError when it is none of ours."""
    members = json.loads(line)
    kind = _KINDS.get(members.pop("message", ""))
    if kind is None:
        raise ValueError(f"Unknown message: {line[:80]!r}")
    if kind in {TaskState, TaskCondition} and members["state"] is not None:
        members["state"] = State(members["state"])
    if kind is TaskCondition and members["condition"] is not None:
        members["condition"] = Condition(**members["condition"])
    if kind is Call:
        members["positions"] = tuple((partition, offset) for partition, offset in members["positions"])
    if kind is CallResult:
        members["problems"] = tuple(ConfigProblem(**p) for p in members["problems"])
    message: Message = kind(**members)
    return message
