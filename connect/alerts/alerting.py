"""Sends an event for each alert that begins or ends while this worker leads, and stores which ones were sent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from connect.alerts.changes import Event, ToldAlert, changes
from connect.alerts.facts import Alert, Facts, Subject, Thresholds, standing
from connect.alerts.outbox import Outbox
from connect.alerts.recent_letters import RecentLetters
from connect.alerts.standing_clock import StandingTimes

BEGAN: Final = "began"
"""This key holds when the cluster first sent alerts. No alert is sent for backfills that ended before."""
_log = logging.getLogger(__name__)


class Memory(Protocol):
    """Stores for all workers of the cluster which alerts were sent."""

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        """Return all stored members by their keys, after reading the topic to its end; it blocks."""

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        """Store members under a key; None deletes the key. Returns at once."""


class Alerting:
    """Compares the facts of each look with the alerts sent before. Used by one thread at a time.

    The outbox's thread stores the events that the receiver has taken.
    """

    def __init__(
        self,
        thresholds: Thresholds,
        memory: Memory,
        deliver: Callable[[Event], None],
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a clock in seconds that never goes back, even if the clock of day is set."""
        self._thresholds = thresholds
        self._memory = memory
        self._known: dict[Subject, ToldAlert] | None = None
        self._began_ms = 0
        self._letters = RecentLetters()
        self._clock_s = clock_s
        self._standing = StandingTimes(clock_s)
        self.outbox = Outbox(deliver, self._remember)

    def look(self, facts: Facts, *, heard_all: bool) -> None:
        """Send events for changes since the last ones. `heard_all` is True if every worker gave its figures."""
        if self._known is None:
            self._known = self._read(facts.now_ms)
        steady_ms = round(1000 * self._clock_s())
        letters = self._letters.look(facts.figures, steady_ms, heard_all=heard_all)
        whole = self._letters.knows_whole_hour(steady_ms)
        stood_ms = self._standing.look(standing(facts), facts.now_ms)
        seen = replace(
            facts,
            dead_letters=letters,
            knows_whole_hour=whole,
            jobs_since_ms=self._began_ms,
            stood_ms=stood_ms,
        )
        self._known, events = changes(self._known, seen, self._thresholds)
        self.outbox.add(events)

    def release(self) -> None:
        """Take note that another worker leads; that one sends the events that the receiver has not taken yet."""
        if self._known is not None:
            self._known = None
            self._letters = RecentLetters()
            self._standing = StandingTimes(self._clock_s)
            self.outbox.clear()

    def _read(self, now_ms: int) -> dict[Subject, ToldAlert]:
        told = self._memory.told_alerts()
        if BEGAN not in told:
            self._memory.remember_alert(BEGAN, {"since_ms": now_ms})
        self._began_ms = int(told.get(BEGAN, {}).get("since_ms", now_ms))
        known = {}
        for key, members in told.items():
            if key != BEGAN:
                try:
                    alert = Alert(Subject.parse(key), str(members["reason"]), int(members["since_ms"]))
                except (ValueError, KeyError, TypeError) as error:
                    _log.warning("told_alert_unreadable", extra={"key": key, "reason": repr(error)})
                else:
                    known[alert.subject] = ToldAlert(alert)
        return known

    def _remember(self, event: Event) -> None:
        alert = event.alert
        members = None if event.is_over else {"reason": alert.reason, "since_ms": alert.since_ms}
        self._memory.remember_alert(alert.subject.key, members)
