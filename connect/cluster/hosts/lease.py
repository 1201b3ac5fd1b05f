"""The right of task hosts to work, held in memory they share with their worker: it runs out when the worker freezes.

A worker that hangs, or is stopped by a debugger or a virtual machine, loses its slots to others while its task hosts
would work on; so do those of a worker that no broker hears any more. So each host ends itself when the lease was not
extended in time. The clock is CLOCK_MONOTONIC, which all processes of a machine share.

A host looks at the lease every `CHECK_S`. One that is frozen itself cannot look, and would send what its Kafka clients
hold as soon as it goes on; so where there are such timers (Linux) the kernel ends it a moment later (`lease_timer`).

The worker and the process that is its member in the group (`connect.cluster.group`) both extend the lease, each its own
end, and the earlier one counts: one of them alone cannot speak for the other.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from connect.cluster.hosts.lease_timer import LeaseTimer
from connect.cluster.hosts.shared_memory import shared_memory
from connect.runtime.host.crash_report import say_lease_over, say_lease_until

_MOMENT: Final = struct.Struct("d")
_WORKERS_END, _MEMBERS_END, _WORKER_SEEN = (place * _MOMENT.size for place in range(3))
"""The moments of a lease are at these places of the shared memory."""
SHARE: Final = 0.8
"""Part of the session time-out for which a lease is good: hosts must be gone before the group notices."""
UNHEARD_SHARE: Final = 0.9
"""A lease is good for this part of the session time-out after the last answer of a broker: the group counts from when
it last heard of the worker.
"""
REACH_EVERY_S: Final = 0.5
REACH_S: Final = 0.5
"""How often a broker is asked to answer, and how long that may take."""
Reach = Callable[[float], bool]
"""Called with a number of seconds, it returns True if a broker answers within them."""
CHECK_S: Final = 0.2
TIMER_GRACE_S: Final = 2 * CHECK_S
"""The kernel's timer leaves a host that is not frozen the time to end itself, and to say why."""
EXIT_CODE: Final = 75
"""EX_TEMPFAIL: how a host ends whose lease is over; the crash report says that it was not a plug-in that ended it."""
LEASE_OVER: Final = "ended with its worker's lease"
"""The reason of such an end: the host has done nothing wrong, and neither have its tasks."""


class Lease:
    """Extends the hosts' lease for the worker. `revoke` may be called from any thread; threads of its own extend it."""

    def __init__(
        self, valid_s: float, unheard_s: float = float("inf"), reach: Reach | None = None, resume_s: float = 0.0
    ) -> None:
        """`unheard_s`: how long it is good after the last time that `reach` found a broker.

        `resume_s`: how long it has to be good again after it had run out, see `is_good`.
        """
        self._valid_s = valid_s
        self._unheard_s = unheard_s
        self._resume_s = resume_s
        self._heard_s = 0.0
        self._resumes_s = 0.0
        self.descriptor = shared_memory("lease", mmap.PAGESIZE)
        self._moments = _Moments(self.descriptor, mmap.PROT_READ | mmap.PROT_WRITE)
        self._moments.write(_MEMBERS_END, float("inf"))  # until there is a member
        self._held = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._extend, name="lease", daemon=True).start()
        if reach is not None:
            threading.Thread(target=self._listen, args=(reach,), name="lease-reach", daemon=True).start()

    @property
    def is_good(self) -> bool:
        """Return True if hosts may begin to work.

        A lease that had run out counts again when it was good for `resume_s`: by then the group has told a worker that
        lost its slots meanwhile. From any thread.
        """
        now_s = time.monotonic()
        return self._moments.end_s >= now_s >= self._resumes_s

    def hold(self) -> None:
        """Take note that the group has spoken to this worker: hosts may work as long as this process lives on and is
        heard.
        """
        self._heard_s = time.monotonic()
        self._write(self._until_s())
        self._resumes_s = 0.0
        self._held.set()

    def revoke(self) -> None:
        """End the lease, so that all hosts end themselves at once."""
        self._held.clear()
        self._write(0.0)

    def close(self) -> None:
        """Extend no more."""
        self._ended.set()

    def _extend(self) -> None:
        while not self._ended.wait(self._valid_s / 8):
            if self._held.is_set():
                now_s, until_s = time.monotonic(), self._until_s()
                if self._moments.end_s < now_s <= until_s:
                    self._resumes_s = now_s + self._resume_s
                self._write(until_s)
            if not self._held.is_set():
                self._write(0.0)

    def _listen(self, reach: Reach) -> None:
        while not self._ended.wait(REACH_EVERY_S):
            asked_s = time.monotonic()
            if self._held.is_set() and reach(REACH_S):
                self._heard_s = max(self._heard_s, asked_s)

    def _until_s(self) -> float:
        return min(time.monotonic() + self._valid_s, self._heard_s + self._unheard_s)

    def _write(self, until_s: float) -> None:
        self._moments.write(_WORKER_SEEN, time.monotonic())
        self._moments.write(_WORKERS_END, until_s)


class MemberLease:
    """The share in the lease of the process that is the worker's member in its group.

    While it is held a thread extends it, so it runs out when this process freezes, as the worker's does.
    """

    def __init__(self, descriptor: int, valid_s: float) -> None:
        """`valid_s`: as the worker's lease has it."""
        self._moments = _Moments(descriptor, mmap.PROT_READ | mmap.PROT_WRITE)
        self._valid_s = valid_s
        self._held = threading.Event()
        self._lock = threading.Lock()  # an extension must not come behind the end
        self.hold()
        threading.Thread(target=self._extend, name="lease", daemon=True).start()

    def hold(self) -> None:
        """Let hosts work as long as this process lives."""
        self._held.set()
        self._extend_once()

    def revoke(self) -> None:
        """End the lease, so that all hosts end themselves at once."""
        with self._lock:
            self._held.clear()
            self._moments.write(_MEMBERS_END, 0.0)

    @property
    def hosts_ended_s(self) -> float:
        """Return when the hosts of a worker that does nothing from now on have ended, by the clock they share.

        The worker extends its lease for `valid_s` at the most each time it is seen.
        """
        return self._moments.read(_WORKER_SEEN) + self._valid_s + TIMER_GRACE_S

    def _extend(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._valid_s / 8):
            self._extend_once()

    def _extend_once(self) -> None:
        with self._lock:
            if self._held.is_set():
                self._moments.write(_MEMBERS_END, time.monotonic() + self._valid_s)


class _Moments:
    """Holds the moments of a lease in shared memory. Each has one process that writes it."""

    def __init__(self, descriptor: int, access: int) -> None:
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE, prot=access)

    @property
    def end_s(self) -> float:
        """Return until when hosts may work."""
        return min(self.read(_WORKERS_END), self.read(_MEMBERS_END))

    def read(self, place: int) -> float:
        (moment_s,) = _MOMENT.unpack_from(self._memory, place)
        return float(moment_s)

    def write(self, place: int, moment_s: float) -> None:
        self._memory[place : place + _MOMENT.size] = _MOMENT.pack(moment_s)


def watch(descriptor: int, report: int) -> None:
    """End this process when the lease behind the descriptor has run out. For task hosts.

    `report`: the descriptor of its crash report, which tells the worker why.
    """
    watcher = _Watcher(descriptor, report)
    watcher.arm()
    threading.Thread(target=watcher.run, name="lease", daemon=True).start()


class _Watcher:
    """Keeps an eye on the lease for a host."""

    def __init__(self, descriptor: int, report: int) -> None:
        self._moments = _Moments(descriptor, mmap.PROT_READ)
        self._report = report
        self._armed_s = 0.0
        self._timer: LeaseTimer | None = None
        with suppress(OSError):  # such a system has the look at the clock alone, see docs/decisions/024-lease.md
            self._timer = LeaseTimer()

    def run(self) -> None:
        pause = threading.Event()
        while not pause.wait(CHECK_S):
            if time.monotonic() > self._moments.end_s:
                say_lease_over(self._report)
                os.write(2, b"The worker of this task host is frozen or out of its group; the host ends.\n")
                os._exit(EXIT_CODE)  # nothing may be flushed: another worker may own these tasks already
            self.arm()

    def arm(self) -> None:
        """Tell the kernel until when this process may live. A lease that is revoked ends by `run`."""
        until_s = self._moments.end_s
        if self._timer is not None and until_s > self._armed_s:
            self._armed_s = until_s
            say_lease_until(self._report, until_s + TIMER_GRACE_S)
            self._timer.arm(until_s + TIMER_GRACE_S)
