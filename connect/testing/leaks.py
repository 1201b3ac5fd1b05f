"""Finds threads, sockets and files that a task left behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path

from connect.lib.deadline import Deadline
from connect.testing.task_thread import THREAD_PREFIX

CYCLES = 3
_DESCRIPTORS = Path("/proc/self/fd")
_Found = dict[str, list[str]]


def _open_now() -> _Found:
    """Return what is open, by kind; descriptors only where the system has /proc."""
    gc.collect()
    threads = [t.name for t in threading.enumerate() if not t.name.startswith(THREAD_PREFIX)]
    found: _Found = {"thread": threads, "socket": [], "file": []}
    for entry in _DESCRIPTORS.iterdir() if _DESCRIPTORS.is_dir() else ():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:  # closed since it was listed, or the listing itself
            continue
        found["socket" if target.startswith("socket:") else "file"].append(target)
    return found


def leaks_of(cycle: Callable[[], None], *, settle_s: float = 3.0) -> list[str]:
    """Return what each run of `cycle` leaves behind: one sentence per kind, none when nothing is left.

    The first run is not counted, as it fills caches and pools of libraries; a leak is what then grows with every run.
    """
    cycle()
    before = _open_now()
    for _ in range(CYCLES):
        cycle()
    deadline = Deadline.after(settle_s)
    while (leaked := _grown(before, _open_now())) and deadline.wait(0.05):
        pass
    return leaked


def _grown(before: _Found, after: _Found) -> list[str]:
    sentences = []
    for kind, names in after.items():
        growth = len(names) - len(before[kind])
        if growth >= CYCLES:
            examples = sorted(set(names) - set(before[kind])) or names
            sentences.append(f"{growth} {kind}s more after {CYCLES} runs, such as {examples[0]}")
    return sentences
