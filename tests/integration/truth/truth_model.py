"""Models what a cluster has to say about its connectors by its documentation: sources and sinks of one task."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

SLACK_S: Final = 15.0
"""A lag in seconds may itself be this many seconds late: the time between two looks on a busy machine."""


@dataclass
class Sink:
    """Stands for a sink that reads its own topic from the beginning."""

    name: str
    state: str = "RUNNING"
    written: int = 0
    """Counts the records of its topic."""
    delivered: int = 0
    """Counts the records that the target has, or will have soon."""
    is_away: bool = False
    """The target refuses everything while this is True."""
    has_task: bool = True
    """A stopped connector has no task. It gets one when it is resumed, but not when it is paused, as in Java."""

    def settle(self) -> None:
        """Take note that time passes: if the sink runs and may write, it has written everything."""
        if self.state == "RUNNING" and not self.is_away:
            self.delivered = self.written

    @property
    def waiting(self) -> int | None:
        """Return how many records are in Kafka and not in the target; None if there is no task that could tell."""
        return self.written - self.delivered if self.has_task else None


@dataclass
class Source:
    """Stands for a source that reads its own table."""

    name: str
    state: str = "RUNNING"
    rows: int = 0
    sent: int = 0
    waits_since_s: float | None = None
    """This is when the first row came that is not in Kafka yet, in epoch seconds."""
    remade_s: float = 0.0
    """This is when its task was last made anew, perhaps, in epoch seconds. A paused one counts its lag from there."""

    def insert(self, count: int) -> None:
        """Take note of rows that were inserted."""
        self.rows += count
        if self.waits_since_s is None:
            self.waits_since_s = time.time()

    def settle(self) -> None:
        """Take note that time passes."""
        if self.state == "RUNNING":
            self.sent, self.waits_since_s = self.rows, None

    @property
    def least_lag_s(self) -> float:
        """Return how many seconds a paused source must be behind at least."""
        if self.waits_since_s is None:
            return 0.0
        return time.time() - max(self.waits_since_s, self.remade_s) - SLACK_S


@dataclass
class Model:
    """Holds all connectors by name, and those that were deleted."""

    sinks: dict[str, Sink] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def settle(self) -> None:
        """Take note that time passes."""
        for one in (*self.sinks.values(), *self.sources.values()):
            one.settle()

    def remake_tasks(self) -> None:
        """Take note that tasks may be made anew now, as the leader moves them when others come and go."""
        for source in self.sources.values():
            source.remade_s = time.time()

    def state(self, name: str) -> str:
        """Return the state that a connector should have."""
        return (self.sinks.get(name) or self.sources[name]).state

    def set_state(self, name: str, state: str) -> None:
        """Take note of a state that was asked for."""
        sink = self.sinks.get(name)
        (sink or self.sources[name]).state = state
        if sink is not None and state != "PAUSED":
            sink.has_task = state == "RUNNING"

    @property
    def names(self) -> set[str]:
        """Return the names of the connectors that exist."""
        return {*self.sinks, *self.sources}
