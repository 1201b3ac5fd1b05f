"""Tells where a job's CPU time goes: the steps of the task thread, and the other threads of the process by their
names.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

_THREADS = Path("/proc/self/task")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class CpuProfile:
    """Hears the stages of one task (`TaskFigures`), on its thread; started and read by another."""

    def __init__(self) -> None:
        self._steps: dict[str, float] = {}
        self._step = "loop"
        self._since_s: float | None = None
        self._task_thread: int | None = None
        self._before: Mapping[int, tuple[str, float]] = {}
        self._before_steps: Mapping[str, float] = {}

    def on_stage(self, name: str) -> None:
        """A stage begins, or the last one ended (an empty name)."""
        self._task_thread = threading.get_native_id()
        now_s = time.thread_time()
        if self._since_s is not None:
            self._steps[self._step] = self._steps.get(self._step, 0.0) + now_s - self._since_s
        self._step, self._since_s = name or "loop", now_s

    def start(self) -> None:
        """Count from now on."""
        self._before, self._before_steps = _threads(), dict(self._steps)

    def read(self, rows: int) -> dict[str, float]:
        """CPU seconds per million rows since `start`, the largest first; threads that ended before are left out."""
        spent = {f"task: {name}": s - self._before_steps.get(name, 0.0) for name, s in dict(self._steps).items()}
        for thread, (name, cpu_s) in _threads().items():
            if thread != self._task_thread:
                label = f"thread: {name}"
                spent[label] = spent.get(label, 0.0) + cpu_s - self._before.get(thread, (name, 0.0))[1]
        shares = {name: round(cpu_s / rows * 1e6, 3) for name, cpu_s in spent.items()}
        return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] >= 0.01}


def _threads() -> dict[int, tuple[str, float]]:
    """Name and CPU seconds of each thread; none where there is no /proc."""
    found = {}
    of_python = {thread.native_id: thread.name for thread in threading.enumerate()}
    for folder in _THREADS.iterdir() if _THREADS.is_dir() else ():
        try:
            # Behind the name in brackets: state, then 10 fields, then user and system time (proc(5)).
            name, _, rest = (folder / "stat").read_text().partition(" (")[2].rpartition(") ")
        except FileNotFoundError:
            continue  # It has just ended.
        fields = rest.split()
        name = of_python.get(int(folder.name), name)
        found[int(folder.name)] = (_kind(name), (int(fields[11]) + int(fields[12])) / _TICKS_PER_S)
    return found


def _kind(name: str) -> str:
    """librdkafka has a thread per broker, rdk:broker1; Arrow and tokio number theirs too."""
    return name.rstrip("0123456789-")
