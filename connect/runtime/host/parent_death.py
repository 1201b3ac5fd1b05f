"""Lets child processes die with their parent, however it dies."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""This is the option of Linux's prctl(2)."""


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent dies. Other systems than Linux rely on the closed socket.

    `parent` is the parent's process id, where it is known. Then this process ends at once if its parent has died
    before this call.

    The kernel kills this process when the *thread* that started it ends. So the supervisor must start hosts from a
    thread that lives as long as the worker.
    """
    if not sys.platform.startswith("linux"):
        return
    expected = os.getppid() if parent is None else parent
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != expected:
        os._exit(1)
