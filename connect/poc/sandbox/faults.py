"""Causes the faults of check 8 while rows move: kills of the tasks' processes and a pause of the broker.

If the faults came by the clock alone, they could hit tasks that have not begun on a slow machine, and would show
nothing. So the rows are slowed down until the last fault, and each fault waits until the tasks have moved rows since
the one before it.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from connect.poc.sandbox.options import Options
from connect.poc.sandbox.result import Table
from connect.poc.sandbox.sandbox import Sandbox

PAUSE_S: Final = 3.0
LIFE_S: Final = 3.0
"""The next fault comes after at most this many seconds with rows under way. Offsets are stored each second
meanwhile.
"""
RECOVERY_S: Final = 30.0
"""A run may take this many seconds longer for each of its faults, as tasks restart and the broker comes back."""
_HOLD: Final = 4
"""Rows are slowed down to last this many times as long as the faults take, as tasks also move rows between two
looks.
"""
KILL, PAUSE = "kill of the task", "pause of the broker"


class RunRows(Protocol):
    """Tells the faults how the rows of a run move."""

    @property
    def rows(self) -> int:
        """Return how many rows the run has moved so far."""

    def under_way(self) -> int:
        """Return the number of rows, at least, that the tasks would lose by a kill now."""

    def killed(self) -> int:
        """Note that the tasks were killed just now; return the least number of rows that were under way."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Describes a planned fault. It comes when rows have moved for `wait_s` seconds.

    `strike` causes the fault and returns in words what it did; empty if there was no process to do it to.
    """

    wait_s: float
    kind: str
    strike: Callable[[], str]


@dataclass(frozen=True, slots=True)
class CausedFault:
    """Describes a fault that was caused after the run had taken `after_s` seconds and moved `rows` rows; it hit
    `under_way` rows.
    """

    kind: str
    rows: int
    under_way: int
    after_s: float
    what: str


@dataclass(slots=True)
class Faults:
    """Causes the faults of one run, in their order. It is owned by the thread that watches the run.

    A task may move `rows_per_second` until the last fault is over. `further_s` is the time that the run may take longer
    because of its faults.
    """

    planned: list[Fault]
    rows_per_second: float = math.inf
    further_s: float = 0.0
    clock_s: Callable[[], float] = time.monotonic
    done: list[CausedFault] = field(default_factory=list)
    _began_s: float = field(init=False)
    _moving_s: float | None = None
    """This is the time at which rows were first under way after the last fault; None while there are none."""

    def __post_init__(self) -> None:
        self._began_s = self.clock_s()

    def look(self, run_rows: RunRows) -> bool:
        """Cause the fault that is due, if one is. A kill that hit no rows is made again.

        Return True once, after the last fault: from then on rows may come as fast as they can.
        """
        under_way = run_rows.under_way() if self.planned else 0
        if not under_way:
            return False
        now_s = self.clock_s()
        if self._moving_s is None:
            self._moving_s = now_s
        fault = self.planned[0]
        if now_s - self._moving_s < fault.wait_s or not (what := fault.strike()):
            return False
        self._moving_s = None
        rows, hit = run_rows.rows, run_rows.killed() if fault.kind == KILL else under_way
        self.done.append(CausedFault(fault.kind, rows, hit, now_s - self._began_s, what))
        if hit:
            self.planned.pop(0)
        return not self.planned


def plan_faults(sandbox: Sandbox, rows: int, tasks: int, options: Options) -> Faults:
    """Return the kills that the options ask for and one pause of the broker among them, at random moments.

    `rows` and `tasks` are the numbers of the run without faults.
    """

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
    """Return the faults that hit rows, such as `3 kills of the task and 1 pause of the broker`; empty if none did.

    Pure.
    """
    counts = Counter(struck.kind for struck in faults.done if struck.under_way)
    parts = [
        f"{counts[kind]} {kind.replace(' ', 's ', 1) if counts[kind] != 1 else kind}"
        for kind in (KILL, PAUSE)
        if kind in counts
    ]
    left = f" ({len(faults.planned)} more found no rows under way in time)" if parts and faults.planned else ""
    return " and ".join(parts) + left


def table_of(faults: Faults, rows_named: str, hit_named: str) -> Table:
    """Return a table of the faults that were caused.

    `rows_named` is the column's name for all rows moved so far, `hit_named` the one for rows that were hit. Pure.
    """
    rows = [
        (str(number), one.kind, f"{one.rows:,}", f"{one.under_way:,}", f"{one.after_s:.1f} s", one.what)
        for number, one in enumerate(faults.done, 1)
    ]
    return Table("Every fault", ("number", "fault", rows_named, hit_named, "after", "what was done"), rows)
