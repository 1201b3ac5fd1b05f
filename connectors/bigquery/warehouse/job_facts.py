"""Values about jobs and requests: which jobs count, what statements did, which rows were refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


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
    """What a statement did, in rows, and what it is billed for. attempt: the last part of its job's id."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    billed_bytes: int = 0
    attempt: int = 0


class Counts(Enum):
    """The choice which earlier jobs make a submission done, if they were there before it.

    ALWAYS: any of the id, also of an earlier life. LOST: of this life, where the answer did not come; the table may
    have been changed since another was done. NEVER: none.
    """

    ALWAYS = auto()
    LOST = auto()
    NEVER = auto()
