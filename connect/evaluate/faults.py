"""What disturbs a run of check 8: kills of the tasks' processes, and a pause of the broker, while rows are under way.

No fault comes by the clock alone: on a slow machine it would hit tasks that have yet to begin, and show nothing. So
rows come slowly until the last fault, and each one waits until the tasks have taken rows since the one before it.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from connect.evaluate.options import Options
from connect.evaluate.result import Table
from connect.evaluate.sandbox import Sandbox

PAUSE_S: Final = 3.0
LIFE_S: Final = 3.0
"""Tasks move rows for at most so long before the next fault. Offsets are stored every second, so some are."""
RECOVERY_S: Final = 30.0
"""How much longer a run may take for each of its faults: tasks are started anew, brokers come back."""
_HOLD: Final = 4
"""Rows last so many times longer than faults are drawn from, as tasks also move while nobody looks."""
KILL, PAUSE = "kill of the task", "pause of the broker"


class Course(Protocol):
    """A run, as far as faults have to see it."""

    @property
    def rows(self) -> int:
        """So far."""

    def under_way(self) -> int:
        """Rows at least that the tasks have taken in this life and that a kill would now take from them."""

    def killed(self) -> int:
        """A life of the tasks was ended just now: how many rows at least were under way then."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`wait_s`: how long rows move before it. `strike` does it and says what was done; empty: there was nothing to do
    it to.
    """

    wait_s: float
    kind: str
    strike: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that was done, `after_s` seconds of the run, which had `rows` by then. `under_way`: what it hit."""

    kind: str
    rows: int
    under_way: int
    after_s: float
    what: str


@dataclass(slots=True)
class Faults:
    """The faults of one run, first those that come first. Owned by the thread that watches the run.

    `rows_per_second`: what a task may move until the last fault is done. `further_s`: how much longer than in peace the
    run may take.
    """

    planned: list[Fault]
    rows_per_second: float = math.inf
    further_s: float = 0.0
    clock_s: Callable[[], float] = time.monotonic
    done: list[Struck] = field(default_factory=list)
    _began_s: float = field(init=False)
    _moving_s: float | None = None
    """Since when rows are under way after the last fault."""

    def __post_init__(self) -> None:
        self._began_s = self.clock_s()

    def look(self, course: Course) -> bool:
        """The run has come so far: do what is due. A kill that hit no rows is made once more.

        True, once: the last one is done, and rows may come as fast as they can.
        """
        under_way = course.under_way() if self.planned else 0
        if not under_way:
            return False
        now_s = self.clock_s()
        if self._moving_s is None:
            self._moving_s = now_s
        fault = self.planned[0]
        if now_s - self._moving_s < fault.wait_s or not (what := fault.strike()):
            return False
        self._moving_s = None
        rows, hit = course.rows, course.killed() if fault.kind == KILL else under_way
        self.done.append(Struck(fault.kind, rows, hit, now_s - self._began_s, what))
        if hit:
            self.planned.pop(0)
        return not self.planned


def plan_faults(sandbox: Sandbox, rows: int, tasks: int, options: Options) -> Faults:
    """As many kills as are asked for, and a pause of the broker among them. `rows`, `tasks`: of a run in peace."""

    def kill() -> str:
        killed = sandbox.kill_task_hosts()
        return f"kill -9 of {killed} task hosts" if killed else ""

    def pause() -> str:
        return f"no answer for {PAUSE_S:g} s" if sandbox.pause_broker(PAUSE_S) else ""

    draw = random.Random(options.seed)
    kinds = [(KILL, kill)] * options.crashes
    kinds.insert(draw.randint(0, len(kinds)), (PAUSE, pause))
    planned = [Fault(LIFE_S * draw.random(), *kind) for kind in kinds]
    hold_s = _HOLD * LIFE_S * len(planned) * max(1, tasks)
    return Faults(planned, max(0.001, rows / hold_s), RECOVERY_S * len(planned))


def in_words(faults: Faults) -> str:
    """What hit rows, such as `3 kills of the task and 1 pause of the broker`; empty: nothing did. Pure."""
    counts = Counter(struck.kind for struck in faults.done if struck.under_way)
    parts = [
        f"{counts[kind]} {kind.replace(' ', 's ', 1) if counts[kind] != 1 else kind}"
        for kind in (KILL, PAUSE)
        if kind in counts
    ]
    left = f" ({len(faults.planned)} more found no rows under way in time)" if parts and faults.planned else ""
    return " and ".join(parts) + left


def table_of(faults: Faults, rows_named: str, hit_named: str) -> Table:
    """Each that was done as a row. `rows_named`: what the run counts; `hit_named`: what was under way. Pure."""
    rows = [
        (str(number), one.kind, f"{one.rows:,}", f"{one.under_way:,}", f"{one.after_s:.1f} s", one.what)
        for number, one in enumerate(faults.done, 1)
    ]
    return Table("Every fault", ("number", "fault", rows_named, hit_named, "after", "what was done"), rows)
