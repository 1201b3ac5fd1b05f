"""The lease is the right of task hosts to work. It is kept in shared memory and runs out when the worker freezes.

A worker that hangs, that a debugger or a virtual machine stops, or that no broker hears any more loses its slots to
other workers, while its task hosts would work on. So each host ends itself when the lease was not extended in time. The
clock is CLOCK_MONOTONIC, which all processes of a machine share.

A host looks at the lease every `CHECK_S`. A host that is frozen itself cannot look, and as soon as it goes on it would
send the records that its Kafka clients hold. So on Linux a timer of the kernel ends it a moment later (`kernel_timer`).

The worker and the process that is its member in the group (`connect.cluster.group`) both extend the lease. Each writes
the time at which its own part ends, and the earlier time counts: neither of them can tell if the other one works.
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

from connect.cluster.hosts.kernel_timer import LeaseTimer
from connect.cluster.hosts.shared_memory import shared_memory
from connect.runtime.host.crash_report import say_lease_over, say_lease_until

_MOMENT: Final = struct.Struct("d")
_WORKERS_END, _MEMBERS_END, _WORKER_SEEN = (place * _MOMENT.size for place in range(3))
"""These are the offsets in bytes of the lease's three times in the shared memory."""
SHARE: Final = 0.8
"""A lease is good for this part of the session time-out: hosts must be gone before the group notices."""
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
"""The kernel's timer fires this many seconds after the lease ended: a host that is not frozen ends itself before."""
EXIT_CODE: Final = 75
"""A host whose lease is over ends with this code (EX_TEMPFAIL). Its crash report says that no plug-in ended it."""
LEASE_OVER: Final = "ended with its worker's lease"
"""This is the reason that is given for such an end: neither the host nor its tasks have done anything wrong."""


class Lease:
    """Extends the hosts' lease for the worker. `revoke` may be called from any thread; threads of its own extend it."""

    def __init__(
        self, valid_s: float, unheard_s: float = float("inf"), reach: Reach | None = None, resume_s: float = 0.0
    ) -> None:
        """Make a lease that each extension makes good for `valid_s` seconds.

        It runs out `unheard_s` after `reach` last found a broker. If it had run out, hosts may begin to work again only
        after it was good for `resume_s`, see `is_good`.
        """
        self._valid_s = valid_s
        self._unheard_s = unheard_s
        self._resume_s = resume_s
        self._heard_s = 0.0
        self._resumes_s = 0.0
        self.descriptor = shared_memory("lease", mmap.PAGESIZE)
        self._moments = _Moments(self.descriptor, mmap.PROT_READ | mmap.PROT_WRITE)
        self._moments.write(_MEMBERS_END, float("inf"))  # no member limits the lease until there is one
        self._held = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._extend, name="lease", daemon=True).start()
        if reach is not None:
            threading.Thread(target=self._listen, args=(reach,), name="lease-reach", daemon=True).start()

    @property
    def is_good(self) -> bool:
        """Return True if hosts may begin to work.

        A lease that had run out counts again after it was good for `resume_s`. If the worker has lost its slots
        meanwhile, the group has told it so by then. From any thread.
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
        """Stop extending the lease."""
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
    """Extends the lease for the process that is the worker's member in its group.

    A thread extends it while it is held. So the lease also runs out when this process freezes.
    """

    def __init__(self, descriptor: int, valid_s: float) -> None:
        """Hold the lease behind the descriptor; `valid_s` is the same as for the worker's `Lease`."""
        self._moments = _Moments(descriptor, mmap.PROT_READ | mmap.PROT_WRITE)
        self._valid_s = valid_s
        self._held = threading.Event()
        self._lock = threading.Lock()  # the lease must not be extended after it was revoked
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
        """Return the time by which all hosts have ended if the worker does nothing from now on, by the monotonic clock.

        Each time the worker extends the lease, it does so by `valid_s` at the most.
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
    """Holds the times of a lease in shared memory. Each time is written by one process only."""

    def __init__(self, descriptor: int, access: int) -> None:
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE, prot=access)

    @property
    def end_s(self) -> float:
        """Return the monotonic time until which hosts may work."""
        return min(self.read(_WORKERS_END), self.read(_MEMBERS_END))

    def read(self, place: int) -> float:
        (moment_s,) = _MOMENT.unpack_from(self._memory, place)
        return float(moment_s)

    def write(self, place: int, moment_s: float) -> None:
        self._memory[place : place + _MOMENT.size] = _MOMENT.pack(moment_s)


def watch(descriptor: int, report: int) -> None:
    """End this process when the lease behind the descriptor has run out. For task hosts.

    `report` is the descriptor of its crash report, in which the worker reads why it ended.
    """
    watcher = _Watcher(descriptor, report)
    watcher.arm()
    threading.Thread(target=watcher.run, name="lease", daemon=True).start()


class _Watcher:
    """Ends the process of a host when the lease has run out."""

    def __init__(self, descriptor: int, report: int) -> None:
        self._moments = _Moments(descriptor, mmap.PROT_READ)
        self._report = report
        self._armed_s = 0.0
        self._timer: LeaseTimer | None = None
        with suppress(OSError):  # without such timers only `run` ends the host, see docs/decisions/024-lease.md
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
        """Tell the kernel until when this process may live. If the lease is revoked, `run` ends the process."""
        until_s = self._moments.end_s
        if self._timer is not None and until_s > self._armed_s:
            self._armed_s = until_s
            say_lease_until(self._report, until_s + TIMER_GRACE_S)
            self._timer.arm(until_s + TIMER_GRACE_S)
