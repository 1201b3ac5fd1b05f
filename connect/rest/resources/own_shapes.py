"""The shapes of bodies and answers of the resources that Kafka Connect lacks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from connect.rest.resources.shapes import Changes, Config, Offset, State


class Reason(TypedDict):
    """A sentence that says why a connector or a task stands as it does."""

    about: str
    text: str


class Finding(TypedDict):
    """A thing that is wrong, with what was seen, why it matters, and text that mends it; its name never changes."""

    name: str
    severity: Literal["error", "warning", "note"]
    subject: str
    evidence: str
    why: str
    fix: str


class Examination(TypedDict):
    """It has the findings of the doctor, the worst first."""

    findings: list[Finding]


class SampledRecord(TypedDict):
    """Shows a record as JSON in texts. `types`: of each field of the value, in words."""

    topic: str
    key: str
    value: str
    timestamp_ms: int | None
    headers: dict[str, str]
    types: dict[str, str]


class SampledStep(TypedDict):
    """Shows what a transform makes of a row; the first step, `read`, shows it as it was read."""

    name: str
    plugin: str
    records: list[SampledRecord]
    more: Annotated[int, Field(description="records that are left out")]
    error: Annotated[str | None, Field(description="why it refuses the row")]


class SampledRow(TypedDict):
    """Shows a live row at each step."""

    place: str
    steps: list[SampledStep]


class Sample(TypedDict):
    """Holds live rows of a connector before and after each transform, and notes on what was not read."""

    rows: list[SampledRow]
    notes: list[str]


class FlowNode(TypedDict):
    """Describes a connector, a topic or a backfill. `is_there` of a topic is null where Kafka did not tell."""

    id: str
    kind: Literal["source", "sink", "topic", "backfill"]
    name: str
    state: str
    is_there: bool | None
    rows_per_s: float | None
    lag_rows: float | None
    lag_s: float | None


class FlowEdge(TypedDict):
    """Describes a way of rows between two nodes. `declared`: a configuration names it; `seen`: rows went along it."""

    start: str
    end: str
    does: Literal["writes", "reads", "dead letters", "copies"]
    declared: bool
    seen: bool
    rows_per_s: Annotated[float | None, Field(description="null where a connector has several topics: see bundles")]
    lag_rows: float | None
    lag_s: float | None


class FlowBundle(TypedDict):
    """Describes all edges between a connector or backfill and its topics, whose rows are counted together."""

    node: str
    does: Literal["writes", "reads"]
    topics: int
    rows_per_s: float | None
    lag_rows: float | None
    lag_s: float | None


class Flow(TypedDict):
    """Holds sources, topics, sinks and backfills as one graph. `not_told`: what Kafka did not tell in time."""

    nodes: list[FlowNode]
    edges: list[FlowEdge]
    bundles: list[FlowBundle]
    not_told: list[Literal["topics", "backfills"]]
    silent: Annotated[dict[str, str], Field(description="workers whose figures are not known, and why")]


class BrokenPlugin(TypedDict):
    """An entry point that could not be used."""

    name: str
    value: str
    error: str


class ConfigVersion(TypedDict):
    """A version of a configuration, and how it differs from the one before."""

    version: int
    changed_ms: int | None
    who: str | None
    config: Config
    changes: Changes | None


class StateChange(TypedDict):
    """A state that a task had from a moment on; where `task` is null, the connector had it."""

    task: int | None
    state: State
    worker_id: str
    trace: str | None
    changed_ms: int


class Rebalance(TypedDict):
    """The workers that were there from a moment on."""

    generation: int
    leader: str
    workers: list[str]
    changed_ms: int


class History(TypedDict):
    """What was with a connector, oldest first."""

    name: str
    configs: list[ConfigVersion]
    states: list[StateChange]
    rebalances: list[Rebalance]


class EvaluatedConnector(TypedDict):
    """A connector that is to be tried."""

    name: str
    config: Config


class EvaluationWanted(TypedDict):
    """A request that names the connectors that are to be tried."""

    connectors: list[EvaluatedConnector]
    options: NotRequired[
        Annotated[
            dict[str, Any],
            Field(description="sample_rows, duration_s, crashes, budget_rows, seed, show_values."),
        ]
    ]


class Evaluation(TypedDict):
    """An evaluation that runs or has ended, with its result."""

    id: str
    state: Literal["RUNNING", "DONE", "FAILED"]
    progress: list[str]
    error: str | None
    result: Annotated[dict[str, Any] | None, Field(description="As `connect poc --json` writes it.")]


BackfillSpec = Annotated[dict[str, Any], Field(description="A backfill's spec, as in configs/backfill/.")]


class Backfill(TypedDict):
    """A backfill job that is stored."""

    name: str
    spec: BackfillSpec
    state: Literal["PLANNED", "RUNNING", "PAUSED", "FAILED", "CANCELLED", "COPIED", "DONE"]
    chunks: int
    rows: Annotated[int, Field(description="As the source estimated them when the job was planned.")]
    size_bytes: int
    following: list[Offset]
    statements: list[str]
    warnings: list[str]
    created_ms: int
    updated_ms: int
    error: str | None
    worker: Annotated[str, Field(description="Which worker runs it, or ran it last; empty: a command.")]
    runs_here: Annotated[bool, Field(description="A process of the worker that answers runs it.")]


class UnreadableBackfill(TypedDict):
    """A job that this worker cannot read, and why."""

    name: str
    unreadable: str


class BackfillLimits(TypedDict):
    """How fast a job may go, and when."""

    max_rows_per_second: NotRequired[Annotated[int, Field(description="Over all lanes; 0: no limit")]]
    max_bytes_per_second: NotRequired[Annotated[int, Field(description="Over all lanes; 0: no limit")]]
    window: NotRequired[Annotated[str, Field(description="When chunks may be begun, as 22:00-06:00 Europe/Berlin")]]
    max_active_sessions: NotRequired[Annotated[int, Field(description="Of the source; 0: no limit")]]
    max_replica_lag: NotRequired[
        Annotated[float, Field(description="Of the source's replicas, in seconds; 0: no limit")]
    ]
    source_connections: NotRequired[Annotated[int, Field(description="Of all lanes to the source; 0: no limit")]]


class Copied(TypedDict):
    """How far a job is."""

    state: str | None
    error: NotRequired[str | None]
    chunks: int
    chunks_done: int
    rows: int
    rows_done: int
    size_bytes: NotRequired[int]
    lanes: NotRequired[int]
    rows_per_second: NotRequired[float]
    eta_s: NotRequired[float | None]
    silent_s: NotRequired[float | None]


class BackfillProgress(Backfill):
    """A job, how far it is, and the limits that count now."""

    progress: Copied
    limits: BackfillLimits


class BackfillChunk(TypedDict):
    """A chunk that a job has copied or will copy."""

    id: str
    planned_rows: int
    done: bool
    read: int
    rows: int
    size_bytes: int


class BackfillVerdict(TypedDict):
    """What was found when a job's rows were read again."""

    job: str
    good: bool
    missing: int
    twice: int
    changed: list[str]
    unfinished: list[str]
    sample: float
    looked_at: int
    keys: dict[str, Any] | None
    chunks: list[dict[str, Any]]
