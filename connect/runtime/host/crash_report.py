"""Keeps what a worker reads of a dead task host: the stage that each run was in, and the stacks of its threads.

Both are in memory that the host shares with its worker, so they outlive any end: a signal, an `os._exit`, a kill from
outside. The stages come first, one slot for each run. Then come a mark that says if the lease was over, and the time
at which it ends. Behind them the interpreter writes its stacks.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import struct
import threading
import time
from collections.abc import Mapping
from typing import Final

_SLOT: Final = struct.Struct("<q24s")
_SLOTS: Final = 512
STAGES_BYTES: Final = _SLOT.size * _SLOTS
_LEASE_OVER: Final = b"lease over"
_LEASE_UNTIL: Final = struct.Struct("d")
_LEASE_UNTIL_AT: Final = STAGES_BYTES + 16
_STACKS_AT: Final = STAGES_BYTES + 32
REPORT_BYTES: Final = _STACKS_AT
"""The report has this size from the start; the stacks are written behind it."""
STACKS_BYTES: Final = 6000
"""So many bytes of the stacks are shown; the thread that caused the end comes first."""


class Stages:
    """Gives the host's runs their slots in the crash report.

    Slots are taken and given back by any thread; each is written by its run's thread.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, STAGES_BYTES)
        self._free = list(range(_SLOTS))
        self._lock = threading.Lock()  # runs begin on the host's reading thread and end on their own

    def take(self, run: int) -> StageSlot:
        """Return a slot for a run. If all are taken, it is one that nobody reads."""
        with self._lock:
            return StageSlot(self._memory, self._free.pop() if self._free else None, run)

    def give_back(self, slot: StageSlot) -> None:
        """Take back the slot of a run that has ended."""
        if slot.place is None:
            return
        slot.clear()
        with self._lock:
            self._free.append(slot.place)


class StageSlot:
    """Is the place of the report in which one run says what it is doing."""

    def __init__(self, memory: mmap.mmap, place: int | None, run: int) -> None:
        self._memory = memory
        self._run = run
        self.place = place

    def set(self, stage: str) -> None:
        """Write the run's stage. An empty text says that it is in no call into its connector."""
        self._write(self._run, stage)

    def clear(self) -> None:
        """Mark the slot as free."""
        self._write(0, "")

    def _write(self, run: int, stage: str) -> None:
        if self.place is not None:
            at = self.place * _SLOT.size
            self._memory[at : at + _SLOT.size] = _SLOT.pack(run, stage.encode())


def begin(descriptor: int) -> Stages:
    """Make the interpreter write its stacks to the report when the process dies of a signal, SIGABRT included."""
    os.lseek(descriptor, _STACKS_AT, os.SEEK_SET)
    faulthandler.enable(descriptor, all_threads=True)
    return Stages(descriptor)


def stages_in(descriptor: int) -> Mapping[int, str]:
    """Return the stage of each run, by its number, as the host wrote it last. For the worker."""
    slots = os.pread(descriptor, STAGES_BYTES, 0)
    return {run: stage.rstrip(b"\0").decode() for run, stage in _SLOT.iter_unpack(slots) if run}


def stacks_in(descriptor: int) -> str:
    """Return the stacks that the dying interpreter wrote, empty if it had no time to. For the worker."""
    return os.pread(descriptor, STACKS_BYTES, _STACKS_AT).decode(errors="replace").strip()


def say_lease_over(descriptor: int) -> None:
    """Write into the report that the host ends itself because its worker's lease is over.

    No exit code says so: a plug-in may use any.
    """
    os.pwrite(descriptor, _LEASE_OVER, STAGES_BYTES)


def say_lease_until(descriptor: int, until_s: float) -> None:
    """Write into the report when the kernel ends the host (CLOCK_MONOTONIC), unless the host extends that time."""
    os.pwrite(descriptor, _LEASE_UNTIL.pack(until_s), _LEASE_UNTIL_AT)


def lease_over_in(descriptor: int) -> bool:
    """Return True if a host that is dead ended because its lease was over: by itself, or by the kernel.

    For the worker.
    """
    if os.pread(descriptor, len(_LEASE_OVER), STAGES_BYTES) == _LEASE_OVER:
        return True
    (until_s,) = _LEASE_UNTIL.unpack(os.pread(descriptor, _LEASE_UNTIL.size, _LEASE_UNTIL_AT))
    return bool(0.0 < until_s <= time.monotonic())
