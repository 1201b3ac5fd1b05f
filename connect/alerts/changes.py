"""Compares known alerts with those of now, and makes one event of each change. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from connect.alerts.facts import Alert, Facts, Subject, Thresholds, alerts

SETTLED_MS: Final = 15_000
"""An alert is over if it was not seen for this many milliseconds: a task that fails again at once never healed."""


@dataclass(frozen=True, slots=True)
class Event:
    """Tells of an alert that begins or is over; `reason` of one that is over says how its subject fares now."""

    alert: Alert
    is_over: bool
    at_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class ToldAlert:
    """Holds an alert that was sent. `well_since_ms` is when its subject was first seen without it."""

    alert: Alert
    well_since_ms: int | None = None


def changes(
    known: Mapping[Subject, ToldAlert], facts: Facts, thresholds: Thresholds
) -> tuple[dict[Subject, ToldAlert], list[Event]]:
    """Return the alerts that are known from now on, and the events. For each subject beginnings and ends alternate."""
    present = alerts(facts, thresholds)
    standing: dict[Subject, ToldAlert] = {}
    events: list[Event] = []
    for subject, was in known.items():
        if subject in present or not facts.tells_of(subject):
            standing[subject] = replace(was, well_since_ms=None)
            continue
        well_since_ms = facts.now_ms if was.well_since_ms is None else was.well_since_ms
        if facts.now_ms - well_since_ms >= SETTLED_MS:
            events.append(Event(was.alert, True, facts.now_ms, _now(subject, facts)))
        else:
            standing[subject] = replace(was, well_since_ms=well_since_ms)
    for subject, alert in present.items():
        if subject not in known:
            standing[subject] = ToldAlert(alert)
            events.append(Event(alert, False, facts.now_ms, alert.reason))
    return standing, events


def _now(subject: Subject, facts: Facts) -> str:
    return "It goes on, or is no longer there." if subject.is_backfill else facts.why(subject)
