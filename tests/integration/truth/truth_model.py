"""What a cluster has to say of its connectors, by its documents: a plain model of sources and sinks of one task."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

SLACK_S: Final = 15.0
"""A lag in seconds may lag itself: by the time between two looks, on a busy machine."""


@dataclass
class Sink:
    """Reads its own topic from the beginning."""

    name: str
    state: str = "RUNNING"
    written: int = 0
    """Records of its topic."""
    delivered: int = 0
    """What the target holds, or will soon."""
    is_away: bool = False
    """The target refuses what comes."""
    has_task: bool = True
    """A connector that is stopped has no task, and gets one when it runs: not by a pause, as in Java."""

    def settle(self) -> None:
        """Take note that time goes by: whoever runs and may write has written."""
        if self.state == "RUNNING" and not self.is_away:
            self.delivered = self.written

    @property
    def waiting(self) -> int | None:
        """Records that are in Kafka and not in the target; None where no task is there to tell."""
        return self.written - self.delivered if self.has_task else None


@dataclass
class Source:
    """Reads its own table."""

    name: str
    state: str = "RUNNING"
    rows: int = 0
    sent: int = 0
    waits_since_s: float | None = None
    """When the first row came that is not in Kafka, in epoch seconds."""

    def insert(self, count: int) -> None:
        """Take note of rows that have come."""
        self.rows += count
        if self.waits_since_s is None:
            self.waits_since_s = time.time()

    def settle(self) -> None:
        """Take note that time goes by."""
        if self.state == "RUNNING":
            self.sent, self.waits_since_s = self.rows, None


@dataclass
class Model:
    """All connectors by name, and those that were deleted."""

    sinks: dict[str, Sink] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def settle(self) -> None:
        """Take note that time goes by."""
        for one in (*self.sinks.values(), *self.sources.values()):
            one.settle()

    def state(self, name: str) -> str:
        """Return what a connector is to be."""
        return (self.sinks.get(name) or self.sources[name]).state

    def set_state(self, name: str, state: str) -> None:
        """Take note of what was asked for."""
        sink = self.sinks.get(name)
        (sink or self.sources[name]).state = state
        if sink is not None and state != "PAUSED":
            sink.has_task = state == "RUNNING"

    @property
    def names(self) -> set[str]:
        """Return the connectors that there are."""
        return {*self.sinks, *self.sources}
