"""Why a connector does not move, out of what its cluster says. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_NEXT = {
    "source": "It waits for the source.",
    "sink": "It waits for the sink.",
    "kafka": "It waits for Kafka.",
    "converter": "It waits for what the converter needs, such as the schema registry.",
    "rows": "It waits for more rows; nothing is wrong.",
    "restart": "It restarts by itself.",
    "person": "Nothing happens by itself: mend the cause, then `connect connectors restart`.",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """What there is to say about the connector or one of its tasks."""

    about: str
    text: str


def reasons(status: Mapping[str, Any], offsets: Sequence[Mapping[str, Any]]) -> list[Reason]:
    """One reason for the connector and each task, in that order. `offsets` are those of GET …/offsets."""
    parts = [(f"connector {status['name']}", status["connector"])]
    parts += [(f"task {task['id']}", task) for task in status["tasks"]]
    found = [Reason(about, _text(part)) for about, part in parts]
    if not status["tasks"] and status["connector"]["state"] == "RUNNING":
        found.append(Reason("tasks", "The connector has planned none: it found nothing to read, or has just begun."))
    if not offsets:
        found.append(Reason("offsets", "Nothing was ever committed."))
    return found


def _text(part: Mapping[str, Any]) -> str:
    if not part.get("reason"):
        cause = str(part.get("trace") or "").partition("\n")[0]
        return f"{part['state']}: {cause}" if cause else f"{part['state']}; rows move, or there are none."
    times = [f"since {part['since']}"] if part.get("since") else []
    if part.get("next_attempt"):
        times.append(f"next attempt {part['next_attempt']}")
    when = f" ({', '.join(times)})" if times else ""
    return f"{part['state']}: {part['reason']}{when} {_NEXT.get(str(part.get('waiting_for')), '')}".rstrip()
