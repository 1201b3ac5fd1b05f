"""The states of connectors and tasks are those that REST clients know."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """States that REST clients know; none of ours may be added."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
