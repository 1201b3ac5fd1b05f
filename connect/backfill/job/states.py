"""Where a job may stand, and what may be done with it there: commands, requests and pages ask this one table. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from connect.api.errors import ConnectError


class JobStateError(ConnectError):
    """Says that what is asked of a job does not fit its state, or that of its connector."""


class JobState(StrEnum):
    """Where a job stands."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    COPIED = "COPIED"
    """Every chunk is in Kafka; the connector does not go on yet."""
    DONE = "DONE"
    """The connector's offsets are written."""

    @property
    def is_running(self) -> bool:
        """Return True if somebody runs the job, or did until he died."""
        return self in {JobState.PLANNED, JobState.RUNNING}

    @property
    def is_copied(self) -> bool:
        """Return True if every chunk is in Kafka."""
        return self in {JobState.COPIED, JobState.DONE}

    @property
    def is_over(self) -> bool:
        """Return True if nothing is left to be done with the job."""
        return self in {JobState.CANCELLED, JobState.DONE}


class JobAction(StrEnum):
    """What may be asked of a job; the text goes behind "It cannot be"."""

    RUN = "run"
    """Plan it, or go on; one that has copied everything is left as it is."""
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
    """Return True if the action does something in that state."""
    return state in _ALLOWED[action]


def require_allowed(action: JobAction, job: str, state: JobState) -> None:
    """Raise JobStateError, which says how the job stands and what may be done, where it does not allow the action.

    An action is allowed where the job stands already as it would stand behind it: whoever asks again is told the same.
    """
    if not changes(action, state) and state is not _LEADS_TO.get(action):
        raise JobStateError(
            f"Backfill {job} is {state}: {_SINCE[state]}. It cannot be {action}.", fix=_FIXES[state].format(job)
        )
