"""Holds the facts of a cluster at one moment, and finds the alerts in them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Self

from connect.alerts.recent_letters import HOUR_MS
from connect.client.reasons import reasons
from connect.cluster.model.statuses import OverdueTask

_AT_REST: Final = frozenset({"rows", "budget"})
"""Nothing is wrong with a task that stands still for one of these; a used budget has an alert of its own."""
_UNDECIDED: Final = frozenset({"UNASSIGNED", "RESTARTING"})


class Kind(StrEnum):
    """Tells the kind of an alert."""

    CONNECTOR_FAILED = "connector_failed"
    TASK_FAILED = "task_failed"
    STALLED = "stalled"
    LAG = "lag"
    DEAD_LETTERS = "dead_letters"
    MISSED_ROWS = "missed_rows"
    BUDGET = "budget"
    BACKFILL_COPIED = "backfill_copied"
    BACKFILL_FAILED = "backfill_failed"
    BACKFILL_CANCELLED = "backfill_cancelled"


_ENDS: Final = {
    "COPIED": Kind.BACKFILL_COPIED,
    "DONE": Kind.BACKFILL_COPIED,
    "FAILED": Kind.BACKFILL_FAILED,
    "CANCELLED": Kind.BACKFILL_CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """Names a connector, one of its tasks, or a backfill: alerts are about these."""

    kind: Kind
    name: str
    task: int | None = None

    @property
    def key(self) -> str:
        """Return the key under which the subject's alert is stored."""
        return f"{self.kind}-{'' if self.task is None else self.task}-{self.name}"

    @classmethod
    def parse(cls, key: str) -> Self:
        """Return the subject of a key. ValueError: it is no key of a subject."""
        kind, task, name = key.split("-", 2)
        return cls(Kind(kind), name, int(task) if task else None)

    @property
    def is_backfill(self) -> bool:
        """Return True if `name` is the name of a backfill."""
        return self.kind in _ENDS.values()

    @property
    def title(self) -> str:
        """Return the subject in words."""
        if self.is_backfill:
            return f"Backfill {self.name}"
        return f"Connector {self.name}" if self.task is None else f"Task {self.task} of connector {self.name}"


@dataclass(frozen=True, slots=True)
class Alert:
    """Says why a subject needs a person, and since when, in epoch milliseconds."""

    subject: Subject
    reason: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Holds the limits above which something needs a person; 0 means never."""

    lag_rows: int
    stalled_ms: int
    dead_letters: int
    budget_percent: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """Holds what is known now.

    `statuses` are by connector, as GET …/status shows them; None for a connector without a status. `figures` are those
    of each task by `name-0`. `dead_letters` are the counts of the last hour by connector; None while less than an hour
    is known. `jobs` are as GET /backfills shows them; None while they cannot be read. Backfills that ended before
    `jobs_since_ms` make no alert.
    """

    now_ms: int
    statuses: Mapping[str, Mapping[str, Any] | None]
    overdue: Sequence[OverdueTask] = ()
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dead_letters: Mapping[str, float] = field(default_factory=dict)
    knows_whole_hour: bool = True
    jobs: Sequence[Mapping[str, Any]] | None = ()
    jobs_since_ms: int = 0
    stood_ms: Mapping[Subject, int] = field(default_factory=dict)
    """This is how long each subject has stood still, if that was measured; else the clock of day tells it."""

    def stands_for_ms(self, subject: Subject, since_ms: int) -> int:
        """Return for how many milliseconds a subject has stood still; its status says that it does since `since_ms`."""
        return self.stood_ms.get(subject, self.now_ms - since_ms)

    def tells_of(self, subject: Subject) -> bool:
        """Return True if the facts say something of a subject, so that it is well if it has no alert."""
        if subject.is_backfill:
            return self.jobs is not None
        if subject.name not in self.statuses:
            return True
        status = self.statuses[subject.name]
        if status is None:
            return False
        if subject.kind is Kind.DEAD_LETTERS:
            return self.knows_whole_hour
        if subject.kind in {Kind.LAG, Kind.BUDGET, Kind.MISSED_ROWS}:
            return all(f"{subject.name}-{task['id']}" in self.figures for task in status["tasks"])
        part = status["connector"] if subject.task is None else _task(status, subject.task)
        return part is None or part["state"] not in _UNDECIDED

    def why(self, subject: Subject) -> str:
        """Return how a connector or a task fares, in the words of `connect why`."""
        status = self.statuses.get(subject.name)
        if status is None:
            return "It is no longer there."
        found = {str(task["id"]): self.figures.get(f"{subject.name}-{task['id']}", {}) for task in status["tasks"]}
        about = f"connector {subject.name}" if subject.task is None else f"task {subject.task}"
        texts = {reason.about: reason.text for reason in reasons(status, ({},), found)}
        return texts.get(about, "It is no longer there.")


def standing(facts: Facts) -> Iterator[tuple[Subject, int]]:
    """Yield each subject that stands still now, and since when by its worker's clock of day, in epoch milliseconds."""
    for name, status in facts.statuses.items():
        parts = () if status is None else ((None, status["connector"]), *((t["id"], t) for t in status["tasks"]))
        for number, part in parts:
            if _stands_still(part):
                yield Subject(Kind.STALLED, name, number), _ms(part.get("since"), facts.now_ms)
    for overdue in facts.overdue:
        yield Subject(Kind.STALLED, overdue.task.connector, overdue.task.task), overdue.since_ms


def alerts(facts: Facts, thresholds: Thresholds) -> dict[Subject, Alert]:
    """Return the alerts of now, by their subjects."""
    found: dict[Subject, Alert] = {}
    for name, status in facts.statuses.items():
        if status is not None:
            for alert in _of_connector(name, status, facts, thresholds):
                found[alert.subject] = alert
    for overdue in facts.overdue if thresholds.stalled_ms else ():
        subject = Subject(Kind.STALLED, overdue.task.connector, overdue.task.task)
        if facts.stands_for_ms(subject, overdue.since_ms) >= thresholds.stalled_ms:
            found.setdefault(subject, Alert(subject, overdue.reason, overdue.since_ms))
    for job in facts.jobs or ():
        ended = _ended(job, facts.jobs_since_ms)
        if ended is not None:
            found[ended.subject] = ended
    return found


def _of_connector(name: str, status: Mapping[str, Any], facts: Facts, thresholds: Thresholds) -> Iterator[Alert]:
    for number, part in ((None, status["connector"]), *((task["id"], task) for task in status["tasks"])):
        kind = Kind.CONNECTOR_FAILED if number is None else Kind.TASK_FAILED
        since_ms = _ms(part.get("since"), facts.now_ms)
        if part["state"] == "FAILED":
            yield _explained(Alert(Subject(kind, name, number), "", since_ms), facts)
        elif _stands_still(part):
            subject = Subject(Kind.STALLED, name, number)
            if 0 < thresholds.stalled_ms <= facts.stands_for_ms(subject, since_ms):
                yield _explained(Alert(subject, "", since_ms), facts)
    rows = sum(facts.figures.get(f"{name}-{task['id']}", {}).get("lag_rows", 0.0) for task in status["tasks"])
    if 0 < thresholds.lag_rows < rows:
        text = f"{rows:,.0f} rows are not committed, more than alerts.lag.records={thresholds.lag_rows}."
        yield Alert(Subject(Kind.LAG, name), text, facts.now_ms)
    letters = facts.dead_letters.get(name, 0.0)
    if 0 < thresholds.dead_letters < letters:
        text = f"{letters:,.0f} dead letters within an hour, more than alerts.dead.letters={thresholds.dead_letters}."
        yield Alert(Subject(Kind.DEAD_LETTERS, name), text, facts.now_ms)
    if (missed := _missed(name, status, facts)) is not None:
        yield missed
    # Each task knows the budget of its whole connector.
    budgets = (
        facts.figures.get(f"{name}-{task['id']}", {}).get("budget_used_percent", 0.0) for task in status["tasks"]
    )
    used = max(budgets, default=0.0)
    if 0 < thresholds.budget_percent <= used:
        text = (
            f"{used:.0f} % of the day's budget are used (alerts.budget.percent={thresholds.budget_percent}). "
            "What costs more than is left waits for the next day."
        )
        yield Alert(Subject(Kind.BUDGET, name), text, facts.now_ms)


def _missed(name: str, status: Mapping[str, Any], facts: Facts) -> Alert | None:
    """Return the alert of a sink that found in the last hour that its next offset was not in its topic any more."""
    figures = [facts.figures.get(f"{name}-{task['id']}", {}) for task in status["tasks"]]
    at_ms = round(1000 * max((told.get("last_missed_epoch_s", 0.0) for told in figures), default=0.0))
    if at_ms <= facts.now_ms - HOUR_MS:
        return None
    rows = sum(told.get("missed_rows_total", 0.0) for told in figures)
    text = (
        f"{rows:,.0f} rows were not read since its tasks began, as Kafka no longer had them or auto.offset.reset "
        "passed them over; `connect connectors why` says which."
        if rows
        else "An offset that it was to read was not in its topic: rows were deleted before they were read, the topic "
        "was made anew or cut, or the offset was set too far. `connect connectors why` says where, and what is missing."
    )
    return Alert(Subject(Kind.MISSED_ROWS, name), text, at_ms)


def _explained(alert: Alert, facts: Facts) -> Alert:
    return replace(alert, reason=facts.why(alert.subject))


def _stands_still(part: Mapping[str, Any]) -> bool:
    return part["state"] == "RUNNING" and bool(part.get("reason")) and part.get("waiting_for") not in _AT_REST


def _ended(job: Mapping[str, Any], since_ms: int) -> Alert | None:
    """Return the alert of a backfill that has ended; None if it goes on, is unreadable, or ended before `since_ms`."""
    kind = _ENDS.get(str(job.get("state")))
    if kind is None or job["updated_ms"] < since_ms:
        return None
    text = {
        Kind.BACKFILL_COPIED: f"It is copied: {job['rows']:,} rows.",
        Kind.BACKFILL_FAILED: f"It failed: {job.get('error') or 'see the log of its worker.'}",
        Kind.BACKFILL_CANCELLED: "It was cancelled.",
    }[kind]
    return Alert(Subject(kind, job["name"]), text, job["updated_ms"])


def _task(status: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
    return next((task for task in status["tasks"] if task["id"] == number), None)


def _ms(text: str | None, otherwise: int) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000) if text else otherwise


def iso(epoch_ms: int) -> str:
    """Return a time in ISO 8601, UTC."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
