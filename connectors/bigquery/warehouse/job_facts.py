"""Holds values about jobs and requests: what statements changed, which rows were refused, which earlier jobs count."""

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
    """Tells how many rows a statement changed, and what it is billed for.

    `attempt` is the number at the end of its job's id. `rows` has the rows that a query found.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    billed_bytes: int = 0
    attempt: int = 0
    rows: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """Holds a job that has ended.

    With `is_own` this run of the task submitted it. With `is_over_limit` BigQuery ended it, as it needs more bytes than
    it was allowed.
    """

    job_id: str
    billed_bytes: int
    is_own: bool
    is_over_limit: bool


class Metering(Protocol):
    """Says how many bytes the jobs of a statement may be billed for, and is told how many they were billed for."""

    def limit_bytes(self, job_id: str) -> int | None:
        """Return the bytes that a job may be billed for, before it is submitted; None: there is no limit.

        Raise RetriableError if the job has to wait.
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
    """Says which earlier jobs under the same id count as the work that is to be submitted.

    ALWAYS: any job counts, also one of an earlier run. LOST: only a job of this run counts whose submission got no
    answer, as the table may have changed after any other. NEVER: no job counts.
    """

    ALWAYS = auto()
    LOST = auto()
    NEVER = auto()
