"""Keeps a machine busy: so many processes of it want a core at every moment, whatever else runs.

Run as a program, `busy_processes.py PLACE GATE`, it is one of the busy processes. The first byte of the file behind the
descriptor GATE says how many of them have to be busy. It ends when its parent is gone, however that ended.
"""

from __future__ import annotations

import math
import mmap
import os
import statistics
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Self

LOOK_S = 0.5
_REMEMBERED = 20
"""Others count by the mean of so many looks: they come and go many times in a second."""
_ROUNDS = 200_000
"""Rounds of a loop, a few milliseconds, between two looks at the gate."""


class BusyProcesses:
    """Tops the processes that want a core up to a number, all with the niceness of this process."""

    def __init__(self, wanted: int) -> None:
        """Take how many processes have to want a core; those of others count, too."""
        self._wanted = wanted
        self._others: deque[int] = deque(maxlen=_REMEMBERED)
        self._seen: list[int] = []
        self._own: list[int] = []
        self._descriptor = os.memfd_create("gate")
        os.ftruncate(self._descriptor, mmap.PAGESIZE)
        self._gate = mmap.mmap(self._descriptor, mmap.PAGESIZE)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._top_up, daemon=True)

    def __enter__(self) -> Self:
        command, gate = [sys.executable, "-I", "-S", __file__], self._descriptor
        for place in range(self._wanted):
            self._processes.append(subprocess.Popen([*command, str(place), str(gate)], pass_fds=[gate]))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(60)
        for process in self._processes:
            process.kill()
            process.wait()
        self._gate.close()
        os.close(self._descriptor)

    def forget(self) -> None:
        """Begin to count anew."""
        self._seen.clear()
        self._own.clear()

    @property
    def mean(self) -> float:
        """Return how many processes wanted a core, on the average of all looks."""
        return statistics.fmean(self._seen) if self._seen else 0.0

    @property
    def own_mean(self) -> float:
        """Return how many of them were of this object."""
        return statistics.fmean(self._own) if self._own else 0.0

    def _top_up(self) -> None:
        active = self._gate[0] = self._wanted
        while not self._end.wait(LOOK_S):
            running = wanting_a_core()
            self._seen.append(running)
            self._own.append(active)
            self._others.append(running - active)
            lacking = math.ceil(self._wanted - statistics.fmean(self._others))
            active = self._gate[0] = min(self._wanted, max(0, lacking))


def wanting_a_core() -> int:
    """Return how many processes and threads run or wait for a core, without the one that asks."""
    for line in Path("/proc/stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "procs_running":
            return int(value) - 1
    raise LookupError("/proc/stat does not say how many processes run.")


def _be_busy(place: int, descriptor: int) -> None:
    parent, pause = os.getppid(), threading.Event()
    with mmap.mmap(descriptor, mmap.PAGESIZE, prot=mmap.PROT_READ) as gate:
        while os.getppid() == parent:
            if place < gate[0]:
                for _ in range(_ROUNDS):
                    pass
            else:
                pause.wait(LOOK_S / 5)


if __name__ == "__main__":
    _be_busy(*map(int, sys.argv[1:]))
