"""Children die with their parent, however it dies."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""prctl(2), Linux."""


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies; elsewhere than on Linux the closed socket must do.

    The signal follows the *thread* that started this process: the supervisor must start hosts from a thread that lives
    as long as the worker.
    """
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # The parent died between the two calls.
