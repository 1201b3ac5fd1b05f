"""Defines the messages between a worker and its task hosts, which are JSON lines over a socket pair. No I/O.

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
"""Names what a Call asks for. The connector answers the first four; the framework answers the others."""


@dataclass(frozen=True, slots=True)
class StartTask:
    """Asks to run a task. `run` is the run's number. Placeholders of config providers are unresolved in configs."""

    connector: str
    task: int
    run: int
    kind: Literal["source", "sink"]
    connector_config: Mapping[str, str]
    task_config: Mapping[str, str]
    paused: bool = False


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Asks to connect to Kafka before the first task comes."""


@dataclass(frozen=True, slots=True)
class StopTask:
    """Asks to stop a task within `timeout_s` seconds. The answer is TaskState(state=None)."""

    connector: str
    task: int
    run: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class SetPaused:
    """Asks to pause or resume a task."""

    connector: str
    task: int
    run: int
    paused: bool


@dataclass(frozen=True, slots=True)
class SetLogLevel:
    """Sets a logger's level, one of `connect.telemetry.log_levels.LEVELS`; the name `root` stands for all loggers."""

    logger: str
    level: str


@dataclass(frozen=True, slots=True)
class TellFigures:
    """Asks for the figures of all runs. The answer is Figures with the same number, or that of a later question."""

    number: int


@dataclass(frozen=True, slots=True)
class AsksToWrite:
    """Asks if a run that has taken its transactional id, and so fenced its predecessors, is still the current one.

    The answer is MayWrite, once the worker has read the config topic to its end.
    """

    connector: str
    task: int
    run: int


@dataclass(frozen=True, slots=True)
class MayWrite:
    """Answers AsksToWrite. `refusal` says why the run may not write; None lets it go on."""

    connector: str
    task: int
    run: int
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Asks a connector something that may reach other systems. The answer is a CallResult with the same id.

    `positions` holds, for alter_offsets and write_offsets, pairs of source partition and offset (None: reset). The
    value of read_offsets holds such pairs, too. The value of alter_offsets is the connector's answer: a list of
    `is_whole` and notes; `is_whole` is False for a connector that has no say in its offsets. For alter_group, and in
    the value of read_group, the pairs are `{"topic", "partition"}` and `{"offset"}`. The value of hide holds the given
    pairs without the configuration's secrets. `count` is the number of tasks whose producers fence shuts out, or of
    rows that sample shows.
    """

    id: int
    method: Method
    config: Mapping[str, str]
    timeout_s: float
    positions: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class HostReady:
    """Is the first message of a host, once it is up."""

    pid: int


@dataclass(frozen=True, slots=True)
class TaskBuilt:
    """Says that a run's configuration is right and its converters, transforms and clients are made; it opens next."""

    connector: str
    task: int
    run: int


@dataclass(frozen=True, slots=True)
class TaskState:
    """Tells a run's new state; None says that the run has ended as it was asked to. `trace` comes with FAILED.

    `retriable` says that the failure may go away by itself, so that a restart makes sense. `topics` are the topics used
    since the last report.
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
    """Tells what holds up a run that is in `state`. Without a condition its rows move again."""

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
    """Answers a Call with a value, with `problems` (broken keys), or with `error` and trace.

    The value of task_configs is a list of maps, that of check a list of notes, and that of clean_up what stays.
    `again_s` comes with task_configs: the answer is good for so many seconds, or as long as the configuration if it is
    None. `retriable` says that the error may go away by itself. `unavailable` says that the connector gave no answer
    because the worker ends or is out of its group.
    """

    id: int
    value: Any = None
    problems: Sequence[ConfigProblem] = ()
    error: str | None = None
    trace: str | None = None
    again_s: float | None = None
    retriable: bool = False
    unavailable: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Tells the metrics of the host's process, and those of its tasks since their start.

    A task's metric is `figures["name-0"][metric]`.
    """

    tasks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    process: Mapping[str, float] = field(default_factory=dict)
    number: int = 0
    """The number of the TellFigures message that this one answers."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Says each second that the host lives, as the worker takes a silent host for a dead one."""


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
    # Figures hold thousands of numbers. asdict would copy each of them, in twice the time of all else.
    members = (
        {f.name: getattr(message, f.name) for f in fields(message)} if isinstance(message, Figures) else asdict(message)
    )
    return json.dumps({"message": type(message).__name__, **members}).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message of a line. Raise ValueError if the line holds no message."""
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
