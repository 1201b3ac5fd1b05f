"""The right of task hosts to work, held in memory they share with their worker: it runs out when the worker freezes.

A worker that hangs, or is stopped by a debugger or a virtual machine, loses its slots to others while its task hosts
would work on. So each host ends itself when the lease was not extended in time. The clock is CLOCK_MONOTONIC, which all
processes of a machine share.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import threading
import time
from typing import Final

from connect.api.errors import ConnectError

_FORMAT: Final = struct.Struct("d")
SHARE: Final = 0.8
"""Part of the session time-out for which a lease is good: hosts must be gone before the group notices."""
CHECK_S: Final = 0.2


class Lease:
    """The worker's side. `revoke` may be called from any thread; a thread of its own extends it."""

    def __init__(self, valid_s: float) -> None:
        self._valid_s = valid_s
        self.descriptor = _shared_page()
        self._memory = mmap.mmap(self.descriptor, mmap.PAGESIZE)
        self._held = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._extend, name="lease", daemon=True).start()

    def hold(self) -> None:
        """Hosts may work as long as this process lives on."""
        self._write(time.monotonic() + self._valid_s)
        self._held.set()

    def revoke(self) -> None:
        """All hosts end themselves at once."""
        self._held.clear()
        self._write(0.0)

    def close(self) -> None:
        """Extend no more."""
        self._ended.set()

    def _extend(self) -> None:
        while not self._ended.wait(self._valid_s / 8):
            if self._held.is_set():
                self._write(time.monotonic() + self._valid_s)
            if not self._held.is_set():
                self._write(0.0)

    def _write(self, until_s: float) -> None:
        self._memory[: _FORMAT.size] = _FORMAT.pack(until_s)


def _shared_page() -> int:
    """A descriptor of one page of memory that child processes may inherit. ConnectError: there is no room for it."""
    page = bytes(mmap.PAGESIZE)
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("lease")
        os.write(descriptor, page)
        return descriptor
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            # Written, not just made longer: on a full disk a page without room behind it would end the process later.
            file.write(page)
            return os.dup(file.fileno())
    except OSError as error:
        raise ConnectError(
            "A worker shares a page of memory with its task hosts in a temporary file, but none can be written: "
            f"{error.strerror}.",
            fix="Free space in the folder for temporary files, or name one that can be written to in TMPDIR.",
        ) from error


def watch(descriptor: int) -> None:
    """End this process when the lease behind the descriptor has run out. For task hosts."""
    memory = mmap.mmap(descriptor, mmap.PAGESIZE, prot=mmap.PROT_READ)
    threading.Thread(target=_watch, args=(memory,), name="lease", daemon=True).start()


def _watch(memory: mmap.mmap) -> None:
    pause = threading.Event()
    while not pause.wait(CHECK_S):
        (until_s,) = _FORMAT.unpack(memory[: _FORMAT.size])
        if time.monotonic() > until_s:
            os.write(2, b"The worker of this task host is frozen or out of its group; the host ends.\n")
            os._exit(75)  # EX_TEMPFAIL; nothing may be flushed: another worker may own these tasks already
