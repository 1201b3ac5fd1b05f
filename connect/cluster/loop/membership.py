"""Tells which slots this worker owns, and who leads. The herder knows no more of the other workers than this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from connect.lib.deadline import Deadline


@dataclass(frozen=True, slots=True)
class View:
    """Holds the cluster as this worker sees it. A view never changes; a new one replaces it.

    `slots` are this worker's; None: it has all tasks, also those without a slot. `owners` names the worker of each
    slot, as far as known.
    """

    generation: int
    leads: bool
    leader_url: str | None
    slots: frozenset[int] | None
    owners: Mapping[int, str] = field(default_factory=dict)
    urls: Mapping[str, str] = field(default_factory=dict)

    def owns(self, slot: int | None) -> bool:
        """Return True if tasks of this slot run here; None is the slot of a task that has none yet."""
        return self.slots is None or (slot is not None and slot in self.slots)


NOBODY = View(generation=0, leads=False, leader_url=None, slots=frozenset())
"""This is the view before the first assignment, and after the worker was put out of the group."""


class MembershipListener(Protocol):
    """Is told of changes of the group, on the membership's thread."""

    def view_changed(self) -> None:
        """Hear that there is another view. It must return at once."""

    def release(self, slots: frozenset[int], deadline: Deadline) -> None:
        """Stop the tasks of these slots, and return when none runs here; those that run at the deadline are killed."""

    def lost(self) -> None:
        """End all tasks now: this worker is out of the group, and others may run its tasks already."""


class Membership(Protocol):
    """Stands for this worker's part in the group of workers."""

    @property
    def view(self) -> View:
        """Return the present view."""

    @property
    def is_out(self) -> bool:
        """Return True if this worker was put out of the group, or lost sight of it, and is not back yet."""

    @property
    def may_work(self) -> bool:
        """Return True if tasks may run on this worker now: no other one can have got its slots unnoticed."""

    @property
    def trouble(self) -> str | None:
        """Return in words why the brokers are not reached; None if they are, as far as is known."""

    def figures(self) -> Mapping[str, float]:
        """Return the figures of rebalances, by their names in JAVA_WORKER_METRICS."""

    def start(self, url: str, worker_id: str, listener: MembershipListener) -> None:
        """Join the group."""

    def config_changed(self) -> None:
        """Take note that the config topic says something new; another worker may have claimed slots."""

    def close(self, deadline: Deadline) -> None:
        """Leave the group, so that the others take over at once."""
