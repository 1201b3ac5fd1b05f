"""Shows the history of a connector as rows of tables: versions, states, and the workers that were there. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

_LAST: Final = 50
"""So many changes of state, and of workers, are shown; the web page shows as many states."""
Rows = Sequence[Sequence[object]]
Members = Sequence[Mapping[str, Any]]


def version_rows(versions: Members) -> Rows:
    """Return number, time, author and changed keys of each version."""
    return [(one["version"], _when(one["changed_ms"]), one["who"], _changed(one["changes"])) for one in versions]


def state_rows(states: Members) -> Rows:
    """Return time, part, state, worker and first line of the trace of the last changes of state."""
    return [
        (
            _when(one["changed_ms"]), "connector" if one["task"] is None else f"task {one['task']}", one["state"],
            one["worker_id"], str(one["trace"] or "").partition("\n")[0],
        )
        for one in states[-_LAST:]
    ]  # fmt: skip


def rebalance_rows(rebalances: Members) -> Rows:
    """Return time, leader and workers of the last changes of the group."""
    return [(_when(one["changed_ms"]), one["leader"], ", ".join(one["workers"])) for one in rebalances[-_LAST:]]


def _when(epoch_ms: int | None) -> str:
    return "" if epoch_ms is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch_ms / 1000))


def _changed(changed: Mapping[str, Mapping[str, Any]] | None) -> str:
    if changed is None:
        return "created"
    return ", ".join(
        f"{sign}{key}" for sign, part in (("+", "added"), ("", "changed"), ("-", "removed")) for key in changed[part]
    )
