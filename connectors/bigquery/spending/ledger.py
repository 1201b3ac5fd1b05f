"""Holds the bytes that a connector's jobs were billed for, by day and month, and those reserved for later jobs. Pure.

Bytes are reserved under the id of a job before it is submitted, and BigQuery ends the job unbilled if it needs more.
An id is used once, so these bytes limit whichever job gets the id. They count as used on each day until somebody has
seen the end of the job, so that a crash in between does not let the same bytes be spent twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, Final, Self

from connect.api.state import require_known

DAY_S: Final = 86_400
_RESERVED: Final = timedelta(days=30)
"""A reservation is given up after so long if nobody has seen its job, as its table may be gone."""
_MONTH_CHARS: Final = len("2026-11")
MOST_CHARS: Final = 12_000
"""The text of a ledger may have so many characters. A description holds 16,384, and the counts grow."""
_FULL_WAIT_S: Final = 30.0
"""A statement waits so many seconds if the ledger is full until other jobs have ended."""


class Kind(StrEnum):
    """Says what a job is counted as."""

    LOAD = "load"
    MERGE = "merge"
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Job:
    """Holds a job that has ended, and what it was billed for.

    With `was_reserved` the job is counted only if its reservation is still there, so that it is counted once. The
    process `found_by` wanted to submit its own job under this id, and found that of another process.
    """

    id: str
    kind: Kind
    billed_bytes: int
    was_reserved: bool
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class Period:
    """Tells what the jobs of a day or a month were billed for, and how many there were, by kind."""

    name: str = ""
    billed_bytes: Mapping[str, int] = field(default_factory=dict)
    jobs: Mapping[str, int] = field(default_factory=dict)

    def at(self, name: str) -> Period:
        """Return the period of this name: an empty one if the name is a later one, and else this period itself."""
        return self if name <= self.name else Period(name)

    def with_jobs(self, kind: Kind, billed_bytes: int, jobs: int) -> Period:
        """Return the period with more jobs."""
        billed = {**self.billed_bytes, kind: self.billed_bytes.get(kind, 0) + billed_bytes}
        return Period(self.name, billed, {**self.jobs, kind: self.jobs.get(kind, 0) + jobs})


@dataclass(frozen=True, slots=True)
class Reservation:
    """Holds the bytes that a job may be billed for, and as which `kind` the job is counted.

    The process `owner` reserved them last, on `day`. With `is_shared` another process had reserved them before.
    """

    bytes: int
    day: str
    owner: str
    is_shared: bool = False
    kind: Kind = Kind.MERGE

    @classmethod
    def parse(cls, found: Any) -> Self:
        """Return the reservation from a ledger's JSON: a list of values, or an object as earlier versions wrote it."""
        values = list(found.values()) if isinstance(found, dict) else found
        made = cls(*values)
        return replace(made, kind=Kind(made.kind))


@dataclass(frozen=True, slots=True)
class Need:
    """Tells how many bytes a job needs, which process asks for them, and as which kind the job is counted."""

    bytes: int
    owner: str
    kind: Kind = Kind.MERGE


@dataclass(frozen=True, slots=True)
class Wait:
    """Tells for how many seconds a statement has to wait; None: it needs more than the budget of a whole day.

    With `is_full` the reason is that the ledger has no room for more reservations.
    """

    seconds: float | None
    used_bytes: int
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """Holds what a connector spends. Its text is stored in BigQuery."""

    day: Period = field(default_factory=Period)
    month: Period = field(default_factory=Period)
    reserved: Mapping[str, Reservation] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the ledger that a text holds; an empty text is an empty ledger.

        Raise ValueError if the text is no ledger, and NewerFormatError if a newer version wrote it.
        """
        found: Any = json.loads(text) if text else {}
        try:
            require_known(found, "The ledger of what the connector's jobs were billed for")
            return cls(
                Period(**found.get("day", {})),
                Period(**found.get("month", {})),
                {job_id: Reservation.parse(one) for job_id, one in found.get("reserved", {}).items()},
            )
        except (AttributeError, TypeError) as error:
            raise ValueError(f"The text is JSON of another kind: {error}.") from error

    def text(self) -> str:
        """Return the ledger as text."""
        reserved = {job_id: astuple(one) for job_id, one in self.reserved.items()}
        found = {"day": asdict(self.day), "month": asdict(self.month), "reserved": reserved}
        return json.dumps(found, separators=(",", ":"))

    def oldest(self, most: int, owner: str) -> Sequence[tuple[str, Reservation]]:
        """Return at most `most` of the oldest reservations of other processes than `owner`. Those of today are left out
        unless the ledger is nearly full.
        """
        is_full = len(self.text()) > MOST_CHARS / 2
        found = [
            (job_id, one)
            for job_id, one in self.reserved.items()
            if one.owner != owner and (is_full or one.day < self.day.name)
        ]
        return sorted(found, key=lambda item: item[1].day)[:most]

    def at(self, day: str) -> Ledger:
        """Return the ledger on a day such as 2026-11-24. It never goes back to an earlier one."""
        if day <= self.day.name:
            return self
        oldest = (date.fromisoformat(day) - _RESERVED).isoformat()
        kept = {job_id: one for job_id, one in self.reserved.items() if one.day >= oldest}
        return Ledger(self.day.at(day), self.month.at(day[:_MONTH_CHARS]), kept)

    def is_beyond(self, day: str) -> bool:
        """Return True if the ledger is at a day that follows the one after `day`: some clock was wrong."""
        return self.day.name > (date.fromisoformat(day) + timedelta(days=1)).isoformat()

    def brought_back(self, day: str) -> Ledger:
        """Return the ledger at an earlier day. What is counted counts on this day, so that no byte is spent twice."""
        reserved = {job_id: replace(one, day=min(one.day, day)) for job_id, one in self.reserved.items()}
        return Ledger(replace(self.day, name=day), replace(self.month, name=day[:_MONTH_CHARS]), reserved)

    @property
    def used_bytes(self) -> int:
        """Return the bytes that the jobs of the day were billed for, and those that are reserved."""
        return sum(self.day.billed_bytes.values()) + sum(one.bytes for one in self.reserved.values())

    def wait(self, need_bytes: int, budget_bytes: int, day_share: float) -> Wait | None:
        """Return how long jobs that need `need_bytes` bytes have to wait; None: they need not wait.

        `day_share` is the part of the day that has passed. No larger part of the budget is spent than of the day has
        passed, so that merges go on until the evening. Only the first merge of a day need not wait for that.
        """
        lacking, used = self._lacking(need_bytes, budget_bytes, day_share), self.used_bytes
        if lacking is not None:
            return lacking
        due_share = (used + need_bytes) / budget_bytes if used else 0.0
        return Wait((due_share - day_share) * DAY_S, used) if due_share > day_share else None

    def _lacking(self, need_bytes: int, budget_bytes: int, day_share: float, *, but: str = "") -> Wait | None:
        """Return how long to wait if the rest of the day's budget has too few bytes; None if it has enough.

        The reservation of the job `but` is not counted.
        """
        replaced = self.reserved.get(but)
        others = self.used_bytes - (0 if replaced is None else replaced.bytes)
        if need_bytes > budget_bytes:
            return Wait(None, others)
        if others + need_bytes > budget_bytes:
            return Wait((1 - day_share) * DAY_S, others)
        return None

    def with_reserved(self, job_id: str, need: Need, budget_bytes: int, day_share: float) -> Ledger | Wait:
        """Return the ledger with bytes for a job, or how long it has to wait."""
        before = self.reserved.get(job_id)
        # Somebody else may still submit a job of this id, by the bytes reserved before.
        wanted = need.bytes if before is None else max(need.bytes, before.bytes)
        found = self._lacking(wanted, budget_bytes, day_share, but=job_id)
        if found is not None:
            return found
        is_shared = before is not None and (before.is_shared or before.owner != need.owner)
        reservation = Reservation(wanted, self.day.name, need.owner, is_shared, need.kind)
        made = replace(self, reserved={**self.reserved, job_id: reservation})
        is_full = before is None and len(made.text()) > MOST_CHARS
        return Wait(_FULL_WAIT_S, self.used_bytes, is_full=True) if is_full else made

    def with_job(self, job: Job) -> Ledger:
        """Return the ledger with an ended job, and without its reservation. A job that is counted changes nothing."""
        reservation = self.reserved.get(job.id)
        if job.was_reserved and reservation is None:
            return self
        left = replace(self, reserved={job_id: one for job_id, one in self.reserved.items() if job_id != job.id})
        if reservation is not None and reservation.owner == job.found_by and not reservation.is_shared:
            # The process that submitted the job has counted it before these bytes were reserved.
            return left
        return left.with_jobs(job.kind, job.billed_bytes, 1)

    def with_jobs(self, kind: Kind, billed_bytes: int, jobs: int) -> Ledger:
        """Return the ledger with more jobs of a kind."""
        day, month = (period.with_jobs(kind, billed_bytes, jobs) for period in (self.day, self.month))
        return replace(self, day=day, month=month)
