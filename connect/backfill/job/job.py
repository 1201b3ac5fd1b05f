"""Describes a job as the jobs topic has it: its state by its driver, and the wishes of its owner. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connect.api.state import FIRST_FORMAT, FORMAT_MEMBER, require_known
from connect.backfill.job.chunk import Signal
from connect.backfill.job.markers import compact, parsed
from connect.backfill.job.pace import Pace
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobAction, JobState, JobStateError, require_allowed


@dataclass(frozen=True, slots=True)
class Job:
    """Holds what the driver writes of a job.

    `run` is the id of the run that owns the job. `error` says why the job failed, without secrets. `worker` is the
    `host:port` of the worker that runs it, whose place another worker takes if it dies; it is empty if a command runs
    the job. `group` is the `group.id` of the cluster that the job belongs to. It is empty if a release wrote the record
    that knew no owners; the next run then makes the job its own. `configs` has digests of the connectors' settings at
    planning. `id` is drawn at planning, so that a sink tells the job from an earlier one of its name. Both are empty if
    an older release planned the job.
    """

    spec: Mapping[str, Any]
    state: JobState
    run: str
    chunks: int
    rows: int
    size_bytes: int
    following: Sequence[Mapping[str, Any]]
    statements: Sequence[str]
    warnings: Sequence[str]
    created_ms: int
    updated_ms: int
    error: str | None = None
    worker: str = ""
    group: str = ""
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    id: str = ""

    @property
    def name_in_sinks(self) -> str:
        """Return the name of the job in the names of its chunks in a sink."""
        return f"{self.name}.{self.id}" if self.id else self.name

    def require_owner(self, group: str) -> None:
        """Raise JobStateError if the job belongs to another cluster than the one with this `group.id`."""
        if self.group not in {"", group}:
            raise JobStateError(
                f"Backfill {self.name} belongs to the cluster with group.id={self.group}, and this is the one with "
                f"group.id={group}.",
                key="group.id",
                fix="Ask a worker of that cluster, or give the job another name.",
            )

    @property
    def is_running(self) -> bool:
        """Return True if somebody runs the job, or did until that run died."""
        return self.state.is_running

    def require_allowed(self, action: JobAction) -> None:
        """Raise JobStateError if the job's state does not allow the action."""
        require_allowed(action, self.name, self.state)

    @property
    def name(self) -> str:
        """Return the job's name, as its spec has it."""
        return str(self.spec["name"])

    @property
    def settings(self) -> BackfillSpec:
        """Return the job's spec, validated."""
        return BackfillSpec.model_validate(self.spec)

    @property
    def positions(self) -> list[SourcePosition]:
        """Return the positions from which the connector goes on."""
        return [SourcePosition(one["partition"], one["offset"]) for one in self.following]

    def now(self, state: JobState, at_ms: int, error: str | None = None) -> Job:
        """Return the same job in another state, changed at `at_ms`."""
        return replace(self, state=state, updated_ms=at_ms, error=error)

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the job's record."""
        told = asdict(self)
        kept = {key: told[key] for key in told if told[key] or key not in _LATER}
        # A version that does not know the id would name the chunks in a sink otherwise, and write them twice.
        return job_key(self.name), compact({**kept, **({FORMAT_MEMBER: _WITH_ID} if self.id else {})})


@dataclass(frozen=True, slots=True)
class JobSignal:
    """Holds the last signal that the owner of a job gave."""

    job: str
    signal: Signal

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the signal's record."""
        return signal_key(self.job), compact({"wish": self.signal})


@dataclass(frozen=True, slots=True)
class JobPace:
    """Holds the last limits that the owner of a job gave; they count from then on."""

    job: str
    pace: Pace

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Return the key and value of the pace's record."""
        return compact({"job": self.job, "pace": True}), compact(asdict(self.pace))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Says why this version can read no record of a job. `group` is the cluster that the record names, or empty."""

    job: str
    why: str
    group: str


class Jobs:
    """Holds the newest record of each job, signal and pace in the jobs topic."""

    def __init__(self, records: Iterable[tuple[bytes, bytes | None]] = ()) -> None:
        self.jobs: dict[str, Job] = {}
        self._unreadable: dict[bytes, Unreadable] = {}
        self.signals: dict[str, Signal] = {}
        self.paces: dict[str, Pace] = {}
        for key, value in records:
            self.apply(key, value)

    def apply(self, key: bytes, value: bytes | None, partition: int = 0) -> None:
        """Take one record of the topic. One whose key no backfill writes is ignored, as anybody may have written it."""
        del partition
        name = _named(key)
        if name is None:
            return
        kind, job = name
        self._unreadable.pop(key, None)
        if value is None:
            newest: Mapping[str, dict[str, Any]] = {"job": self.jobs, "wish": self.signals, "pace": self.paces}
            newest[kind].pop(job, None)
            return
        told: dict[str, Any] = {}
        try:
            told = parsed(value)
            require_known(told, f"A record of backfill {job}", known=_WITH_ID if kind == "job" else FIRST_FORMAT)
            if kind == "pace":
                self.paces[job] = _PACE.validate_python(told)
            elif kind == "wish":
                self.signals[job] = Signal(told["wish"])
            else:
                self.jobs[job] = _job(job, told)
        except (ConnectError, KeyError, ValueError) as error:
            why, group = f"a record of it cannot be read: {_reason(error)}", told.get("group")
            self._unreadable[key] = Unreadable(job, why, group if isinstance(group, str) else "")

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Return the jobs with a record that this version cannot read, each with the reason.

        A newer version wrote such a record, or somebody else did. These jobs keep no other job from going on.
        """
        return {one.job: one.why for one in self._unreadable.values()}

    def unreadable_to(self, group: str) -> Mapping[str, str]:
        """Return the jobs of `unreadable` that name this cluster, by its `group.id`, as their owner, or name none."""
        return {one.job: one.why for one in self._unreadable.values() if one.group in {"", group}}

    def known(self, name: str) -> Job | None:
        """Return a job; None if there is none of that name. JobStateError: this version cannot read its record."""
        if name in self.unreadable:
            raise JobStateError(
                f"Backfill {name}: {self.unreadable[name]}",
                fix="Ask a worker or a command of the version that wrote it.",
            )
        return self.jobs.get(name)

    def spec(self, job: Job) -> BackfillSpec:
        """Return the job's spec with the limits that its owner gave last."""
        pace = self.paces.get(job.name)
        if pace is None:
            return job.settings
        limits = job.settings.limits.model_copy(update=asdict(pace))
        return job.settings.model_copy(update={"limits": limits})

    def signal(self, job: str, run: str) -> Signal:
        """Return the signal for a lane of this run: the owner's, or SUPERSEDED if another run owns the job."""
        found = self.jobs.get(job)
        if job in self.unreadable or (found is not None and found.run != run):
            return Signal.SUPERSEDED
        return self.signals.get(job, Signal.GO_ON)


_JOB: Final = TypeAdapter(Job)
_WITH_ID: Final = 2
"""The number of the format of a job's record that has the job's id."""
_LATER: Final = frozenset({"configs", "id"})
"""These members are left out where they are empty, as a release wrote the record that did not know them."""
_PACE: Final = TypeAdapter(Pace)
# A key has exactly these members; newer releases may add members to values, and those are ignored.
_KINDS: Final = {frozenset({"job"}): "job", frozenset({"job", "wish"}): "wish", frozenset({"job", "pace"}): "pace"}


def _named(key: bytes) -> tuple[str, str] | None:
    """Return the kind of a record and the job's name from its key; None if no backfill writes such a key."""
    try:
        members = parsed(key)
    except ConnectError:
        return None
    kind, job = _KINDS.get(frozenset(members)), members.get("job")
    if kind is None or not isinstance(job, str) or not job:
        return None
    return (kind, job) if kind == "job" or members[kind] is True else None


def _job(name: str, told: Mapping[str, Any]) -> Job:
    """Return the job of a record's value. ValueError, KeyError: the value is of another job, or is no job."""
    made = _JOB.validate_python(told)
    if made.settings.name != name:
        raise ValueError(f"it tells of job {made.settings.name}")
    _ = made.positions
    return made


def _reason(error: Exception) -> str:
    """Return what is wrong with a record, without its values, which may be secrets."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(error).__name__}: {error}"


def job_key(name: str) -> bytes:
    """Return the key of a job's record."""
    return compact({"job": name})


def signal_key(name: str) -> bytes:
    """Return the key of a signal's record."""
    return compact({"job": name, "wish": True})
