"""Shows a cluster's connectors on one line each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_WORST: Final = ("FAILED", "UNASSIGNED", "RESTARTING", "PAUSED", "STOPPED", "RUNNING")


@dataclass(frozen=True, slots=True)
class Line:
    """Describes a connector: `state` is the worst of its own and its tasks', `tasks` tells how many run, as "1/2"."""

    name: str
    type: str
    state: str
    tasks: str
    plugin: str
    reason: str


def overview(found: Mapping[str, Any]) -> list[Line]:
    """Return a line for each connector of GET /connectors?expand=info&expand=status; worst states come first."""
    lines = [_line(name, parts) for name, parts in found.items()]
    return sorted(lines, key=lambda line: (rank(line.state), not line.reason, line.name))


def _line(name: str, parts: Mapping[str, Any]) -> Line:
    info, status = parts.get("info", {}), parts.get("status", {})
    own = status.get("connector", {})
    tasks = status.get("tasks", [])
    states = Counter(task["state"] for task in tasks)
    if own.get("state") == "RUNNING" and (unheard := len(info.get("tasks", ())) - len(tasks)) > 0:
        states["UNASSIGNED"] += unheard  # nobody has said anything of them, so that they do not run
    state = min([*states, *([own["state"]] if own else [])], key=rank, default="UNASSIGNED")
    told = [own, *tasks]
    reason = next((part["reason"] for part in told if part.get("reason")), "")
    trace = next((part["trace"] for part in told if part.get("trace")), "")
    plugin = str(info.get("config", {}).get("connector.class", "")).rpartition(".")[2]
    running = f"{states['RUNNING']}/{states.total()}"
    return Line(name, str(info.get("type", "")), state, running, plugin, reason or str(trace).partition("\n")[0])


def rank(state: str) -> int:
    """Return the rank of a state; the lowest rank most needs a person."""
    return _WORST.index(state) if state in _WORST else 0
