"""What disturbs a run of check 8 at drawn places of it: kills of the tasks' processes, and a pause of the broker."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.evaluate.options import Options
from connect.evaluate.result import Table
from connect.evaluate.sandbox import Sandbox

PAUSE_S: Final = 3.0
SECONDS_A_FAULT: Final = 3.0
"""Offsets are stored every second, so between two faults some are."""
KILL, PAUSE = "kill of the task", "pause of the broker"


@dataclass(frozen=True, slots=True)
class Fault:
    """`at`: its place in the run. `strike` does it and says what was done; empty: there is nothing to do it to yet."""

    at: float
    kind: str
    strike: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that was done, `after_s` seconds of the run; `at` is the place in the run that it had come to."""

    kind: str
    at: float
    after_s: float
    what: str


@dataclass(slots=True)
class Faults:
    """The faults of one run, first those that come first. Owned by the thread that watches the run."""

    planned: list[Fault]
    began_s: float = field(default_factory=time.monotonic)
    done: list[Struck] = field(default_factory=list)

    def look(self, at: float) -> None:
        """The run has come so far: do what is due."""
        if self.planned and at >= self.planned[0].at and (what := self.planned[0].strike()):
            fault = self.planned.pop(0)
            self.done.append(Struck(fault.kind, at, time.monotonic() - self.began_s, what))


def plan_faults(sandbox: Sandbox, length: float, options: Options, *, least: float = 0.0) -> Faults:
    """As many kills as are asked for, and a pause of the broker among them. `length` of the run, in any unit."""

    def kill() -> str:
        killed = sandbox.kill_task_hosts()
        return f"kill -9 of {killed} task hosts" if killed else ""

    def pause() -> str:
        return f"no answer for {PAUSE_S:g} s" if sandbox.pause_broker(PAUSE_S) else ""

    kinds = [(KILL, kill)] * options.crashes
    kinds.insert(random.Random(options.seed).randint(0, len(kinds)), (PAUSE, pause))
    places = places_of(length, len(kinds), options.seed)
    return Faults([Fault(max(least, at), *kind) for at, kind in zip(places, kinds, strict=True)])


def places_of(length: float, count: int, seed: int | None) -> list[float]:
    """Drawn places in a run of such a length, one in each part of it. Pure."""
    draw = random.Random(seed)
    part = length * 0.9 / max(1, count)
    return [part * (number + draw.random()) for number in range(count)]


def least_s(options: Options) -> float:
    """How long a disturbed run takes at least: one that is done at once could be disturbed at its end alone."""
    return min(options.duration_s / 2, SECONDS_A_FAULT * (options.crashes + 2))


def in_words(done: Sequence[Struck]) -> str:
    """Such as `3 kills of the task and 1 pause of the broker`. Pure."""
    counts = Counter(struck.kind for struck in done)
    parts = (
        f"{counts[kind]} {kind.replace(' ', 's ', 1) if counts[kind] != 1 else kind}"
        for kind in (KILL, PAUSE)
        if kind in counts
    )
    return " and ".join(parts)


def table_of(done: Sequence[Struck], unit: str) -> Table:
    """Each of them as a row; `unit`: of the places in the run. Pure."""
    rows = [
        (str(number), one.kind, f"{one.at:,.0f}", f"{one.after_s:.1f} s", one.what)
        for number, one in enumerate(done, 1)
    ]
    return Table("Every fault", ("number", "fault", unit, "after", "what was done"), rows)
