"""Tells what changes while this worker leads, and remembers in the cluster what was told."""

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
from connect.alerts.standing_times import StandingTimes

BEGAN: Final = "began"
"""Under this key is remembered when the cluster first told alerts: backfills that had ended then are no news."""
_log = logging.getLogger(__name__)


class Memory(Protocol):
    """Remembers for all workers of the cluster what was told."""

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        """Return all that is remembered, read to its end; it blocks."""

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        """Remember this under a key; None forgets it. Returns at once."""


class Alerting:
    """Compares looks. Used by one thread at a time; events that were taken are remembered on the outbox's."""

    def __init__(
        self,
        thresholds: Thresholds,
        memory: Memory,
        deliver: Callable[[Event], None],
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock_s` gives seconds that never go back, whatever happens to the clock of day."""
        self._thresholds = thresholds
        self._memory = memory
        self._known: dict[Subject, ToldAlert] | None = None
        self._began_ms = 0
        self._letters = RecentLetters()
        self._clock_s = clock_s
        self._standing = StandingTimes(clock_s)
        self.outbox = Outbox(deliver, self._remember)

    def look(self, facts: Facts, *, heard_all: bool) -> None:
        """Tell what is different from what was told. `heard_all`: every worker has told its figures."""
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
        """Take note that another worker leads: it tells what was not taken yet."""
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
