"""Provides the membership of a worker that has no other one beside it."""

from __future__ import annotations

from connect.cluster.loop.membership import NOBODY, MembershipListener, View
from connect.lib.deadline import Deadline


class Alone:
    """The only worker there is: owns everything and leads."""

    def __init__(self) -> None:
        self._view = NOBODY

    @property
    def view(self) -> View:
        """Return the present view."""
        return self._view

    @property
    def is_out(self) -> bool:
        """Return False, as nobody puts it out."""
        return False

    @property
    def may_work(self) -> bool:
        """Return True, as there is no other one."""
        return True

    @property
    def trouble(self) -> str | None:
        """Return None, as no broker is needed for it."""
        return None

    def figures(self) -> dict[str, float]:
        """Return nothing, as nothing is ever shared anew."""
        return {}

    def start(self, url: str, worker_id: str, listener: MembershipListener) -> None:
        """Take everything."""
        urls = {worker_id: url}
        self._view = View(generation=1, leads=True, leader_url=url, slots=None, urls=urls)
        listener.view_changed()

    def config_changed(self) -> None:
        """Do nothing, as nobody else can claim anything."""

    def close(self, deadline: Deadline) -> None:
        """Own nothing any more."""
        del deadline
        self._view = NOBODY
