"""Lets child processes die with their parent, however it dies."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""This is the option of Linux's prctl(2)."""


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent dies; elsewhere than on Linux the closed socket must do.

    `parent`: its process id, where it is known: a parent that died before this call is noticed too, and this process
    ends at once.

    The signal follows the *thread* that started this process: the supervisor must start hosts from a thread that lives
    as long as the worker.
    """
    if not sys.platform.startswith("linux"):
        return
    expected = os.getppid() if parent is None else parent
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != expected:
        os._exit(1)
