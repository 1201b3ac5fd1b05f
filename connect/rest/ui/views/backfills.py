"""Makes what the pages about backfill jobs show. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.backfill.job.states import JobAction, JobState, changes
from connect.rest.ui.views.numbers import cut, moment

CHUNKS: Final = 200
_CHARS: Final = 2000
_SILENT_S: Final = 60.0
"""A running job without a new chunk for this many seconds may have lost its driver, so its page also offers to resume
it.
"""
_UNREADABLE: Final = "UNREADABLE"


@dataclass(frozen=True, slots=True)
class JobLine:
    """Holds a line of the list of jobs. `why` says why the job does not go on, or why it cannot be read."""

    name: str
    state: str
    kind: str
    chunks: int
    rows: int
    updated: str
    worker: str
    why: str


@dataclass(frozen=True, slots=True)
class JobPage:
    """Holds a job, its progress, and its chunks: first those that are not done."""

    line: JobLine
    progress: Mapping[str, Any]
    percent: int
    limits: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    chunks: Sequence[Mapping[str, Any]]
    chunk_count: int

    actions: Collection[JobAction]
    """These may be done with the job in its present state. A running job that makes no progress may also be resumed."""
    seen: str
    """This text changes when the job's state changes, and no other job has it; see `mark`."""


def job_line(job: Mapping[str, Any]) -> JobLine:
    """Return an entry of `GET /backfills` as a line."""
    if "unreadable" in job:
        return JobLine(job["name"], _UNREADABLE, "", 0, 0, "", "", cut(job["unreadable"], _CHARS))
    why = job.get("error") or job.get("not_adopted") or ""
    return JobLine(
        job["name"], str(job["state"]), str(job["spec"].get("kind", "source")), job["chunks"], job["rows"],
        moment(job["updated_ms"]), job["worker"], cut(why, _CHARS),
    )  # fmt: skip


def job_page(job: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]]) -> JobPage:
    """Return the answers of `GET /backfills/{name}` and `…/chunks` as a page shows them."""
    progress = job["progress"]
    whole = progress["chunks"]
    limits = [(key.replace("_", " "), str(value)) for key, value in job["limits"].items() if value]
    return JobPage(
        job_line(job), progress, 100 * progress["chunks_done"] // whole if whole else 0, limits,
        [cut(text, _CHARS) for text in job["warnings"]],
        sorted(chunks, key=lambda chunk: bool(chunk["done"]))[:CHUNKS], len(chunks),
        list(_actions(JobState(job["state"]), progress.get("silent_s") or 0.0)), mark(job),
    )  # fmt: skip


def _actions(state: JobState, silent_s: float) -> Iterator[JobAction]:
    for action in JobAction:
        is_needless = action is JobAction.RESUME and state.is_running and silent_s <= _SILENT_S
        if changes(action, state) and not is_needless:
            yield action


def mark(job: Mapping[str, Any]) -> str:
    """Return a text that tells this job in its present state from every other job, and from itself in other states."""
    return f"{job['created_ms']} {job['state']}"


def change_of(job: Mapping[str, Any], seen: str) -> str:
    """Return what has happened to a job since a page showed it as `seen`; the answer is empty if nothing has."""
    created_ms, _, state = seen.partition(" ")
    if created_ms != str(job["created_ms"]):
        return f"Backfill {job['name']} is another one than that of the page, under the same name."
    return "" if state == job["state"] else f"Backfill {job['name']} was {cut(state, 40)}, and is {job['state']} now."
