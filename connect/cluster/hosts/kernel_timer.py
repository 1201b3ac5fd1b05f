"""Sets a timer in the kernel that ends this process at the end of its lease, even while the process is stopped.

When a frozen process goes on, all of its threads run at once: Kafka's client sends what is in its queues before Python
has looked at a clock. So the kernel is told the end of the lease, and its SIGKILL lets no thread of the process run
again. Sources: timer_create(2), sigevent(3type), clock_gettime(2).
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
from typing import Final

_CLOCK_MONOTONIC: Final = 1
_SIGEV_SIGNAL: Final = 0
_TIMER_ABSTIME: Final = 1


class _SignalEvent(ctypes.Structure):
    """This is struct sigevent of Linux: 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_byte * 48),
    )


class _Time(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _TimerSetting(ctypes.Structure):
    """This is struct itimerspec."""

    _fields_ = (("interval", _Time), ("value", _Time))


class LeaseTimer:
    """Holds one timer of this process; processes that are forked from it do not inherit the timer."""

    def __init__(self) -> None:
        """Create the timer. OSError: this system has no such timers."""
        self._lib = _timer_library()
        self._timer = ctypes.c_void_p()
        event = _SignalEvent(signal=signal.SIGKILL, notify=_SIGEV_SIGNAL)
        self._check(self._lib.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)))

    def arm(self, at_s: float) -> None:
        """End this process when CLOCK_MONOTONIC (`time.monotonic`) reaches `at_s`. A later call replaces the time."""
        fraction, whole_s = math.modf(at_s)
        setting = _TimerSetting(value=_Time(int(whole_s), int(fraction * 1e9)))
        self._check(self._lib.timer_settime(self._timer, _TIMER_ABSTIME, ctypes.byref(setting), None))

    def _check(self, failed: int) -> None:
        if failed:
            number = ctypes.get_errno()
            raise OSError(number, f"The kernel's timer for the lease was refused: {os.strerror(number)}")


def _timer_library() -> ctypes.CDLL:
    # The function is in libc since glibc 2.34 and in musl; older versions of glibc have it in a library of its own.
    for name in (None, "librt.so.1"):
        try:
            library = ctypes.CDLL(name, use_errno=True)
            library.timer_create  # noqa: B018 - whether it is there
        except (OSError, AttributeError):
            continue
        return library
    raise OSError("This system has no timers that send signals (timer_create).")
