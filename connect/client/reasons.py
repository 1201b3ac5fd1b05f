"""Explains why a connector does not move, from what its cluster says. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect.lib.printable import counted
from connect.runtime.task.condition import MISSED

_NEXT = {
    "source": "It waits for the source.",
    "sink": "It waits for the sink.",
    "kafka": "It waits for Kafka.",
    "converter": "It waits for what the converter needs, such as the schema registry.",
    "rows": "It waits for more rows; nothing is wrong.",
    "budget": "It goes on by itself once the budget has room again.",
    "restart": "It restarts by itself.",
    "person": "Nothing happens by itself: mend the cause, then `connect connectors restart`.",
}
_MOVES = "RUNNING; rows move, or there are none."
_WITHOUT_REASON = {
    "RUNNING": _MOVES,
    "PAUSED": "PAUSED: somebody asked for it; `connect connectors resume` lets it go on.",
    "STOPPED": "STOPPED: somebody asked for it; `connect connectors resume` lets it go on.",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Holds a sentence about the connector, one of its tasks, its configuration, or rows that it missed."""

    about: str
    text: str


def reasons(
    status: Mapping[str, Any],
    offsets: Sequence[Mapping[str, Any]] | str,
    figures: Mapping[str, Mapping[str, float]] | None = None,
    planned: Collection[int] = (),
) -> list[Reason]:
    """Return a reason for the connector, then for each task, then the notes on configuration and rows.

    `offsets` are those of GET …/offsets, or the reason why they are not known. `figures` are the metrics of tasks by
    their number, if they are known.
    `planned` are the numbers of the tasks that the connector has; those of which nobody has said anything do not run.
    """
    tasks = [*status["tasks"], *_unheard(status, planned)]
    stands = [task for task in tasks if task["state"] != "RUNNING" or task.get("reason")]
    own = _text(status["connector"])
    if own == _MOVES and stands:
        verb = "does" if len(stands) == 1 else "do"
        own = f"RUNNING, but of {counted(len(tasks), 'task')} {len(stands)} {verb} not move; see there."
    found = [Reason(f"connector {status['name']}", own)]
    for task in tasks:
        measured = _measured((figures or {}).get(str(task["id"]), {}))
        found.append(Reason(f"task {task['id']}", f"{_text(task)}{measured}"))
    if not tasks and status["connector"]["state"] == "RUNNING":
        found.append(Reason("tasks", "The connector has planned none: it found nothing to read, or has just begun."))
    if isinstance(offsets, str):
        found.append(Reason("offsets", f"They are not known: {offsets}"))
    elif not offsets:
        found.append(Reason("offsets", "Nothing was ever committed."))
    notes = status.get("notes", ())
    return [*found, *(Reason("rows" if note.startswith(MISSED) else "configuration", note) for note in notes)]


def _unheard(status: Mapping[str, Any], planned: Collection[int]) -> list[Mapping[str, Any]]:
    """Return the planned tasks that have no status. A connector that rests has said so itself."""
    if status["connector"]["state"] != "RUNNING":
        return []
    told = {task["id"] for task in status["tasks"]}
    return [{"id": number, "state": "UNASSIGNED"} for number in planned if number not in told]


def _measured(figures: Mapping[str, float]) -> str:
    said = []
    if "lag_rows" in figures:
        said.append(f"{counted(figures['lag_rows'], 'row')} not committed")
    if figures.get("lag_s"):
        said.append(f"the oldest of them is {figures['lag_s']:,.1f} s old")
    if figures.get("source_lag_rows"):
        said.append(f"at least {counted(figures['source_lag_rows'], 'row')} of its source not in Kafka")
    if figures.get("source_lag_bytes"):
        said.append(f"{counted(figures['source_lag_bytes'], 'byte')} of the source's log not read")
    if figures.get("source_lag_s"):
        said.append(f"{figures['source_lag_s']:,.1f} s behind its source")
    elif "caught_up_age_s" in figures:
        said.append(f"all that its source had {figures['caught_up_age_s']:,.1f} s ago is in Kafka")
    said += _told_of_rows(figures)
    told = ", ".join(said)
    return f" {told[0].upper()}{told[1:]}." if told else ""


def _told_of_rows(figures: Mapping[str, float]) -> list[str]:
    """Return what became of rows since the task began: those that are not in the target come first."""
    said = []
    if figures.get("missed_rows_total"):
        said.append(f"{counted(figures['missed_rows_total'], 'row')} MISSED, which Kafka no longer had")
    letters = figures.get("dead_letters_total", 0.0)
    if letters:
        said.append(f"{counted(letters, 'bad row')} given to the dead-letter topic")
    if (lost := figures.get("skipped_total", 0.0) - letters) > 0:
        said.append(f"{counted(lost, 'bad row')} PASSED OVER, kept nowhere (errors.tolerance=all)")
    if figures.get("rows_total"):
        said.append(f"{counted(figures['rows_total'], 'row')} since the task began")
    return said


def _text(part: Mapping[str, Any]) -> str:
    if not part.get("reason"):
        if part["state"] == "UNASSIGNED" and not part.get("trace"):
            return "UNASSIGNED: no worker has said that it runs. It begins now, or opens for long, which is told soon."
        cause = str(part.get("trace") or "").partition("\n")[0]
        return f"{part['state']}: {cause}" if cause else _WITHOUT_REASON.get(part["state"], f"{part['state']}.")
    times = [f"since {part['since']}"] if part.get("since") else []
    if part.get("next_attempt"):
        times.append(f"next attempt {part['next_attempt']}")
    when = f" ({', '.join(times)})" if times else ""
    after = _NEXT.get(str(part.get("waiting_for")), "")
    if MISSED in part["reason"]:
        after = after.replace("; nothing is wrong", "")
    return f"{part['state']}: {part['reason']}{when} {after}".rstrip()
