"""Declares what a person may say about a backfill. No I/O; `spec_file` reads it, with the line of each mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from connect.api.reach import Reach, declared
from connect.backfill.job.pace import Pace, Window
from connect.runtime.settings.internal_topics import JOBS_TOPIC, MARKERS_PREFIX

_UNITS: Final = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
}  # fmt: skip
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,149}")


def _size_bytes(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    match = re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", given.strip())
    if match is None or (match[2] or "B").upper() not in _UNITS:
        raise ValueError("write a number of bytes, or one with a unit, as 32MiB")
    return int(match[1]) * _UNITS[(match[2] or "B").upper()]


def _seconds(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", given.strip())
    if match is None:
        raise ValueError("write a number of seconds, or one with a unit, as 30s or 5m")
    return float(match[1]) * _SECONDS[match[2] or "s"]


def _name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise ValueError("write a name of at most 150 letters, digits, '.', '_' and '-'; topics are named after it")
    return given


def _window(given: str) -> str:
    if given:
        Window.parse(given)
    return given


_TYPED: Final = "refused by REST, and of a job that goes on by its name; a person's own file may say it"
Kind = Literal["source", "sink", "copy"]
PACE: Final = tuple(field.name for field in fields(Pace))
"""The limits that may be changed while a job runs."""
SizeBytes = Annotated[int, BeforeValidator(_size_bytes), Field(ge=1)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
Name = Annotated[str, AfterValidator(_name)]


class SpecPart(BaseModel):
    """A part of a spec takes no other keys and no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


LOCAL_MASTER: Final = re.compile(r"local\[([0-9]{1,4}|\*),[0-9]{1,4}\]")
"""A master that is this machine, with its tries per task, and names nothing else."""


def _master(given: str) -> str:
    if re.fullmatch(r"local(\[(\d+|\*)\])?", given):
        cores = given.removeprefix("local").strip("[]") or "1"
        raise ValueError(f"{given} tries no task twice; write local[{cores},4]")
    return given


class Engine(SpecPart):
    """Who runs the lanes: Spark, or processes of this machine."""

    type: Literal["spark", "local"] = "spark"
    master: Annotated[str, AfterValidator(_master)] = Field(
        default="local[*,4]",
        description="Spark's master. A local one needs its second number: tries per task",
        json_schema_extra=declared(Reach.HOST, bounds=_TYPED),
    )
    remote: str | None = Field(
        default=None,
        pattern=r"sc://.+",
        description="A Spark Connect server, as sc://host:15002, instead of a master",
        json_schema_extra=declared(Reach.HOST, bounds=_TYPED),
    )
    conf: dict[str, str] = Field(
        default_factory=dict,
        description="Further settings of Spark",
        json_schema_extra=declared(Reach.CLASS, Reach.COMMAND, Reach.FILE, bounds=_TYPED),
    )
    packages: tuple[str, ...] = Field(
        default=(),
        description="Maven coordinates, which Spark fetches before it starts",
        json_schema_extra=declared(Reach.CLASS, bounds=_TYPED),
    )
    jars: tuple[str, ...] = Field(
        default=(),
        description="Jar files, for machines without Maven",
        json_schema_extra=declared(Reach.CLASS, Reach.FILE, bounds=_TYPED),
    )
    python_env: str | None = Field(
        default=None,
        description="An archive of `connect backfill package`, for executors that have nothing of ours",
        json_schema_extra=declared(Reach.CLASS, Reach.FILE, bounds=_TYPED),
    )
    processes: int = Field(default=0, ge=0, description="engine local: lanes at a time; 0: one per core")

    def lanes_at_once(self, machine_cores: int) -> int | None:
        """Return how many lanes may run on this machine of so many cores; None if others run all, maybe at once."""
        if self.type == "local":
            return self.processes or machine_cores
        here = None if self.remote else re.match(r"local\[(\d+|\*)", self.master)
        if here is None:
            return None
        return machine_cores if here[1] == "*" else int(here[1])


class Source(SpecPart):
    """Says what is read: by a source connector, whose configuration says how and into which topics; or, for kind sink,
    the topics of the sink.
    """

    connector: str = Field(default="", description="Name of the source connector, in the cluster's config topic")
    config: str | None = Field(
        default=None,
        description="A file of its configuration, from which `run` creates it, stopped",
        json_schema_extra=declared(Reach.FILE, bounds=_TYPED),
    )
    offsets: dict[str, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict, description="kind sink: where to begin, as {orders-0: 7}; else at the first record"
    )


class Target(SpecPart):
    """What takes the rows of kinds sink and copy: a sink connector."""

    connector: str = Field(default="", description="Name of the sink connector, in the cluster's config topic")
    config: str | None = Field(
        default=None,
        description="A file of its configuration, from which `run` creates it, stopped",
        json_schema_extra=declared(Reach.FILE, bounds=_TYPED),
    )


class Chunking(SpecPart):
    """How the work is cut. Fixed once the job is planned."""

    rows: int = Field(default=30_000, ge=1, le=1_000_000, description="About so many rows in a chunk")
    max_bytes: SizeBytes = Field(default=32 * 2**20, description="A transaction is committed once it has so many bytes")
    lanes: int = Field(default=4, ge=1, le=1000, description="How many chunks are written at a time, at most")


class Limits(SpecPart):
    """What the job may take of source and brokers."""

    max_rows_per_second: int = Field(default=0, ge=0, description="Over all lanes; 0: no limit")
    max_bytes_per_second: Annotated[int, BeforeValidator(_size_bytes), Field(ge=0)] = Field(
        default=0, description="Over all lanes; 0: no limit"
    )
    window: Annotated[str, AfterValidator(_window)] = Field(
        default="", description='When chunks may be begun, as "22:00-06:00 Europe/Berlin"; empty: at any time'
    )
    max_active_sessions: int = Field(
        default=0,
        ge=0,
        description="No chunk is begun while more sessions of the source work, the job's own included; 0: no limit",
    )
    max_replica_lag: Annotated[float, BeforeValidator(_seconds), Field(ge=0)] = Field(
        default=0.0, description="While a replica of the source is farther behind, no chunk is begun; 0: however far"
    )
    source_connections: int = Field(
        default=0,
        ge=0,
        description="How many connections lanes have to the source at a time, one lane at least; 0: no limit",
    )
    chunk_timeout: Seconds = Field(default=50.0, description="The longest that a chunk's transaction may take")
    max_chunk_retries: int = Field(
        default=8, ge=0, description="How often a chunk is tried again before its lane fails"
    )

    @property
    def pace(self) -> Pace:
        """Return what may be changed while the job runs."""
        return Pace(**{name: getattr(self, name) for name in PACE})


class Handover(SpecPart):
    """How the connector goes on."""

    mode: Literal["auto", "global_snapshot"] = Field(
        default="auto",
        description="global_snapshot: all chunks as the source was at one moment, for sources that log their changes "
        "and can (JDBC with mode=log, PostgreSQL); auto: as the source does it, there each chunk at its own",
    )
    settle: Seconds = Field(
        default=60.0, description="How long the safe mark is waited for, behind transactions that are open"
    )
    start_connector: bool = Field(default=True, description="Resume the connector when its offsets are written")
    overwrite: bool = Field(default=False, description="Replace offsets that the connector has")


class State(SpecPart):
    """Where the job's state is kept. Nothing is kept elsewhere."""

    jobs_topic: Name = JOBS_TOPIC
    marker_topic: Name | None = Field(default=None, description="By default connect-backfill-<name>")


class BackfillSpec(SpecPart):
    """Describes a backfill job. What it may hold depends on its kind: see `joint_mistakes`."""

    api_version: Literal["backfill/v1"] = Field(alias="apiVersion")
    name: Name = Field(description="The job's id, part of its transactional ids")
    kind: Kind = Field(
        default="source", description="source: into Kafka; sink: topics into a sink; copy: a source into a sink"
    )
    source: Source = Source()
    target: Target = Target()
    engine: Engine = Engine()
    chunking: Chunking = Chunking()
    limits: Limits = Limits()
    handover: Handover = Handover()
    state: State = State()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        for place, text in joint_mistakes(self.model_dump(exclude_defaults=True) | {"kind": self.kind}):
            raise ValueError(f"{'.'.join(place)}: {text}")
        return self

    @property
    def marker_topic(self) -> str:
        """Return the topic of the job's markers and plan."""
        return self.state.marker_topic or f"{MARKERS_PREFIX}{self.name}"

    @property
    def fixed(self) -> dict[str, Any]:
        """Return what may not change between the runs of a job, as JSON."""
        whole = self.model_dump(mode="json", by_alias=True)
        return {key: whole[key] for key in ("apiVersion", "name", "kind", "chunking", "state")} | {
            "connector": self.source.connector,
            "target": self.target.connector,
            "offsets": self.source.offsets,
            "handover.mode": self.handover.mode,
        }

    @property
    def in_one_snapshot(self) -> bool:
        """Return True if all chunks are to be read in one snapshot of the source."""
        return self.handover.mode == "global_snapshot"


def joint_mistakes(given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what does not fit together in a spec as it was given, sound or not: place and what to do."""
    source, target = (part if isinstance(part := given.get(name), Mapping) else {} for name in ("source", "target"))
    kind = given.get("kind", "source")
    if kind == "sink":
        for key in ("connector", "config"):
            if key in source:
                yield ("source", key), "kind sink reads the topics of its sink; name the sink under target.connector"
    elif kind in ("source", "copy"):  # a tuple, as what is given may be a list or a map
        if not source.get("connector"):
            yield ("source", "connector"), "it is missing; name the source connector that is read by"
        if source.get("offsets"):
            yield ("source", "offsets"), "only kind sink reads topics; leave it out"
    if kind in ("sink", "copy"):
        if not target.get("connector"):
            yield ("target", "connector"), "it is missing; name the sink connector that takes the rows"
    elif kind == "source" and target:
        yield ("target",), "kind source writes to Kafka; write kind: copy, or leave it out"
    yield from _state_mistakes(given)


def _state_mistakes(given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    state = part if isinstance(part := given.get("state"), Mapping) else {}
    if (state.get("marker_topic") or f"{MARKERS_PREFIX}{given.get('name')}") == state.get("jobs_topic", JOBS_TOPIC):
        key = ("state", "marker_topic") if state.get("marker_topic") else ("name",)
        yield key, "its marker topic would be the jobs topic, which holds jobs alone; write another name"
