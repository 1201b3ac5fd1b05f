"""Values about jobs and requests: which jobs count, what statements did, which rows were refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Protocol


@dataclass(frozen=True, slots=True)
class RowError:
    """A row that was refused by insertAll.

    `reason` is `stopped` where only other rows are bad; `location` is the column.
    """

    row: int
    reason: str
    location: str
    message: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What a statement did, in rows, and what it is billed for.

    attempt: the last part of its job's id. rows: what a query found.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    billed_bytes: int = 0
    attempt: int = 0
    rows: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that has ended. is_own: this life submitted it. is_over_limit: it was ended as it needs more bytes."""

    job_id: str
    billed_bytes: int
    is_own: bool
    is_over_limit: bool


class Metering(Protocol):
    """Says what the jobs of a statement may be billed for, and hears what they were."""

    def limit_bytes(self, job_id: str) -> int | None:
        """Return what a job may be billed for, before it is submitted; None: whatever it needs.

        RetriableError: it has to wait.
        """

    def ended(self, job: Ended) -> None:
        """Take note of a job that has ended, with or without an error, whoever submitted it."""


class Unmetered:
    """Lets jobs be billed for whatever they need."""

    def limit_bytes(self, job_id: str) -> int | None:
        """Return None."""
        del job_id
        return None

    def ended(self, job: Ended) -> None:
        """Do nothing."""


UNMETERED: Final = Unmetered()


class Counts(Enum):
    """The choice which earlier jobs make a submission done, if they were there before it.

    ALWAYS: any of the id, also of an earlier life. LOST: of this life, where the answer did not come; the table may
    have been changed since another was done. NEVER: none.
    """

    ALWAYS = auto()
    LOST = auto()
    NEVER = auto()
