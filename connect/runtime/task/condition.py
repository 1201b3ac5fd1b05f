"""Keeps why a task does not move: what it waits for, since when, and when it tries again. No I/O, no threads.

A running task has no condition while its rows move. Several steps of its loop may be in trouble at once: a sink may
refuse rows while Kafka cannot be reached. The trouble that comes first in `STEPS` is shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class Step(StrEnum):
    """Names the places in its loop at which a task may be held up."""

    CALL = "call"
    """A call that does not return."""
    CONVERT = "convert"
    PUT = "put"
    POLL = "poll"
    FLUSH = "flush"
    PART = "part"
    """A part of the work, such as one table of several, is held up; the connector says so."""
    TAIL = "tail"
    """The sink keeps rows that do not yet fill what it writes at once. Nothing is wrong."""
    GAP = "gap"
    """The sink never reads some rows, as they are gone from Kafka. Nothing is held up. It is shown with others."""
    RESUMED = "resumed"
    """Nothing is held up; the task has begun anew by itself not long ago. It is shown with notes."""
    NOTE = "note"
    """Nothing is held up; the connector has notes on its work."""


STEPS: Final = tuple(Step)
LONG_CALL_S: Final = 15.0
"""A call that lasts longer is told in the status, anew after each further time of this length."""
_SHOWN_CHARS: Final = 500
_NOTED_CHARS: Final = 5000
MISSED: Final = "ROWS MISSED: "
"""Each sentence of `Step.GAP` begins with this, wherever it is shown."""
NOTHING: Final = "nothing"
"""A condition that waits for this holds nothing up. Its reason consists of notes, one on each line."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Says what holds a task up. Times are epoch milliseconds.

    `reason` is one line for people. `waiting_for` names what the task waits for: source, sink, kafka, converter, rows,
    restart (an automatic one), budget (it has room again by itself) or person (nothing happens by itself). With
    `NOTHING` rows move, and `reason` holds notes.
    `retrying_since_ms` and `next_attempt_ms` are set while something is tried again.
    """

    reason: str
    since_ms: int
    waiting_for: str
    retrying_since_ms: int | None = None
    next_attempt_ms: int | None = None


class Conditions:
    """Holds the conditions of one task, by step.

    The task's thread sets them; another thread sets the one of a call that does not return.
    """

    def __init__(self, report: Callable[[Condition | None], None], clock_ms: Callable[[], int] | None = None) -> None:
        """Call `report` with the shown condition whenever that changes, with None when rows move again."""
        self._report = report
        self._clock_ms = clock_ms or (lambda: time.time_ns() // 1_000_000)
        self._lock = threading.Lock()
        self._found: dict[Step, Condition] = {}
        self._shown: Condition | None = None

    def retrying(self, step: Step, waiting_for: str, error: BaseException, delay_s: float) -> None:
        """Take note that a step failed and is tried again after `delay_s`. The error may name another `waiting_for`."""
        waiting_for = getattr(error, "waiting_for", None) or waiting_for
        now_ms = self._clock_ms()
        next_ms = now_ms + round(delay_s * 1000)
        with self._lock:
            known = self._found.get(step)
            since_ms = now_ms if known is None or known.retrying_since_ms is None else known.retrying_since_ms
            self._found[step] = Condition(one_line(error), since_ms, waiting_for, since_ms, next_ms)
            self._show()

    def waiting(self, step: Step, waiting_for: str, reason: str) -> None:
        """Take note that a step waits and nothing has failed. While it goes on waiting, its begin is kept."""
        with self._lock:
            known = self._found.get(step)
            since_ms = self._clock_ms() if known is None else known.since_ms
            self._found[step] = Condition(reason[:_SHOWN_CHARS], since_ms, waiting_for)
            self._show()

    def part_waits(self, waiting_for: str, reason: str | None) -> None:
        """Take note that a part of the work waits for `reason`. None says that all parts go on."""
        if reason is None:
            self.over(Step.PART)
        else:
            self.waiting(Step.PART, waiting_for, reason)

    def noted(self, notes: Sequence[str], step: Step = Step.NOTE) -> None:
        """Take notes on work that is not held up. They replace the former ones."""
        if not notes:
            self.over(step)
            return
        with self._lock:
            text = "\n".join(" ".join(note.split())[:_SHOWN_CHARS] for note in notes)[:_NOTED_CHARS]
            self._found[step] = Condition(text, self._clock_ms(), NOTHING)
            self._show()

    def report_again(self) -> None:
        """Report the shown condition again, as its reader has forgotten it. Report nothing while rows move."""
        with self._lock:
            if self._shown is not None:
                self._report(self._shown)

    def over(self, *steps: Step) -> None:
        """Forget the conditions of these steps, as they go on. It costs nothing if they are not held up."""
        if not self._found.keys().isdisjoint(steps):
            with self._lock:
                for step in steps:
                    self._found.pop(step, None)
                self._show()

    def _show(self) -> None:
        first = next((self._found[step] for step in STEPS if step in self._found), None)
        gap = self._found.get(Step.GAP)
        note = self._found.get(Step.NOTE)
        if first is not None and gap is not None:
            first = _with_gap(first, gap, note)
        elif first is not None and first is self._found.get(Step.RESUMED) and note is not None:
            first = _with_note(first, note)
        if first != self._shown:
            self._shown = first
            self._report(first)


def _with_gap(first: Condition, gap: Condition, note: Condition | None) -> Condition:
    """Return the condition to show where rows are missed. It holds the sentences of `gap` with any other reason."""
    if first is not gap:
        return replace(first, reason=f"{first.reason} {' '.join(gap.reason.splitlines())}"[:_NOTED_CHARS])
    return gap if note is None else _with_note(gap, note)


def _with_note(first: Condition, note: Condition) -> Condition:
    return replace(first, reason=f"{first.reason}\n{note.reason}"[:_NOTED_CHARS])


def missed_rows(condition: Condition | None) -> tuple[str, ...]:
    """Return the sentences of a condition about rows that the sink never reads, one for each place."""
    told = "" if condition is None else condition.reason
    return tuple(part.partition("\n")[0].strip() for part in told.split(MISSED)[1:])


def one_line(error: BaseException) -> str:
    """Return an error as one line: its own words, else its type."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def failure(reason: str | None, restart_in_s: float | None) -> Condition | None:
    """Return the condition of something that failed. It waits for its restart in `restart_in_s` seconds.

    Without such a restart it waits for a person. Return None if there is no reason.
    """
    if not reason:
        return None
    now_ms = time.time_ns() // 1_000_000
    if restart_in_s is None:
        return Condition(reason[:_SHOWN_CHARS], now_ms, "person")
    return Condition(reason[:_SHOWN_CHARS], now_ms, "restart", None, now_ms + round(restart_in_s * 1000))


def not_returned(call: str, lasts_s: float, asked: str) -> str:
    """Return the sentence about a call that does not return. `asked` names keys and addresses that the call asks."""
    whom = f" It asks {asked}." if asked else ""
    return f"{call} has not returned for {lasts_s // LONG_CALL_S * LONG_CALL_S:.0f} s.{whom}"


def held_up(reason: str, waiting_for: str) -> Condition:
    """Return the condition of something that is held up from now on."""
    return Condition(" ".join(reason.split())[:_SHOWN_CHARS], time.time_ns() // 1_000_000, waiting_for)


def hidden(condition: Condition, hide: Callable[[str], str]) -> Condition:
    """Return the condition with its reason changed by `hide`, which masks the values of config providers."""
    return replace(condition, reason=hide(condition.reason))
