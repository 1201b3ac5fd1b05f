"""Defines the states of a job and what may be done in each. Commands, requests and pages ask this one table. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from connect.api.errors import ConnectError


class JobStateError(ConnectError):
    """Says that something cannot be done with a job in its state, or in the state of its connector."""


class JobState(StrEnum):
    """Where a job stands."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    COPIED = "COPIED"
    """Every chunk is in Kafka, but the connector does not go on yet."""
    DONE = "DONE"
    """The connector's offsets are written, so it goes on from there."""

    @property
    def is_running(self) -> bool:
        """Return True if somebody runs the job, or did until that run died."""
        return self in {JobState.PLANNED, JobState.RUNNING}

    @property
    def is_copied(self) -> bool:
        """Return True if every chunk is in Kafka."""
        return self in {JobState.COPIED, JobState.DONE}

    @property
    def is_over(self) -> bool:
        """Return True if nothing is left to do with the job."""
        return self in {JobState.CANCELLED, JobState.DONE}


class JobAction(StrEnum):
    """Names what may be asked of a job. Errors put the text behind "It cannot be"."""

    RUN = "run"
    """Plan the job, or go on with it; a job that has copied everything is left as it is."""
    RESUME = "resumed"
    PAUSE = "paused"
    LIMIT = "limited"
    CANCEL = "cancelled"
    HAND_OVER = "handed over"


_RUNNING: Final = frozenset({JobState.PLANNED, JobState.RUNNING})
_UNFINISHED: Final = _RUNNING | {JobState.PAUSED, JobState.FAILED}
_ALLOWED: Final[Mapping[JobAction, frozenset[JobState]]] = {
    JobAction.RUN: _UNFINISHED | {JobState.COPIED, JobState.DONE},
    JobAction.RESUME: _UNFINISHED,
    JobAction.PAUSE: _RUNNING,
    JobAction.LIMIT: _UNFINISHED,
    JobAction.CANCEL: _UNFINISHED,
    JobAction.HAND_OVER: frozenset({JobState.COPIED}),
}
_LEADS_TO: Final = {
    JobAction.PAUSE: JobState.PAUSED, JobAction.CANCEL: JobState.CANCELLED, JobAction.HAND_OVER: JobState.DONE
}  # fmt: skip
_SINCE: Final[Mapping[JobState, str]] = {
    JobState.PLANNED: "it is about to run",
    JobState.RUNNING: "its chunks are being copied",
    JobState.PAUSED: "it rests, and what it has written stays",
    JobState.FAILED: "it runs no longer, and what it has written stays",
    JobState.CANCELLED: "it was cancelled for good",
    JobState.COPIED: "every chunk is in Kafka, and nothing is left to copy",
    JobState.DONE: "every chunk is in Kafka, and its connector goes on from there",
}
_GO_ON: Final = (
    "Let it go on by `connect backfill resume {0}`, over REST by PUT /backfills/{0}/resume; or end it for good by "
    "`connect backfill cancel {0}`."
)
_FIXES: Final[Mapping[JobState, str]] = {
    **dict.fromkeys(_RUNNING, "Wait until it has ended; see `connect backfill status {0}`, or GET /backfills/{0}."),
    JobState.PAUSED: _GO_ON,
    JobState.FAILED: _GO_ON,
    JobState.CANCELLED: "Begin again under another name, into a new topic.",
    JobState.COPIED: "Verify it, and hand it over by `connect backfill handover {0}`, over REST by POST "
    "/backfills/{0}/handover.",
    JobState.DONE: "See its connector by `connect status`. To copy everything once more, begin under another name, "
    "into a new topic.",
}


def changes(action: JobAction, state: JobState) -> bool:
    """Return True if the action changes something in that state."""
    return state in _ALLOWED[action]


def require_allowed(action: JobAction, job: str, state: JobState) -> None:
    """Raise JobStateError if the state does not allow the action; it says what may be done.

    An action is allowed too if the job is already in the state that it leads to, so a repeated request gets the same
    answer.
    """
    if not changes(action, state) and state is not _LEADS_TO.get(action):
        raise JobStateError(
            f"Backfill {job} is {state}: {_SINCE[state]}. It cannot be {action}.", fix=_FIXES[state].format(job)
        )
