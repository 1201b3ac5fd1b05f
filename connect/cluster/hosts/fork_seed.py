"""Forks processes off a worker while the worker has one thread. One becomes the fork server before the first host, one
the worker's member in its group.

A worker has loaded most of the modules that its hosts need. A process that is forked from it has them already and
shares their memory, so the first host is there five times sooner than from a new interpreter. The process waits without
work, and loads the rest when it begins. It is made before the worker reads its file, so that it holds no key of
that file; keys of `--set` stand in the command line, which any user of the machine can read.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from connect.cluster.hosts import fork_server
from connect.cluster.hosts.process_name import show_name
from connect.lib import python_child
from connect.lib.deadline import Deadline
from connect.runtime.host.parent_death import die_with_parent

if TYPE_CHECKING:
    from connect.plugins.catalog import Catalog

NAME: Final = fork_server.__name__
"""The system's lists of processes show this name, as they do for a server that is a program."""
_BEGIN: Final = b"begin"
_LOOK_S: Final = 0.01
_DESCRIPTORS: Final = 3
"""Each gets three: its socket to the worker, the lease of the hosts, and an end of their life line."""
_FIRST: Final = 3
"""The descriptors below are standard input, output and error."""
Work = Callable[[int, int, int], int]
"""Gets the descriptors that `ForkSeed.begin` sends, and returns the exit code."""


class ForkSeed:
    """Stands for a forked process, with the part of `subprocess.Popen` that the worker uses. Owned by one thread."""

    def __init__(self, line: socket.socket, pid: int) -> None:
        self._line = line
        self.pid = pid
        self._code: int | None = None

    def begin(self, control: socket.socket, lease: int, life_line: int) -> bool:
        """Let the process begin its work now. Return False if it is gone; call this once."""
        with self._line:
            try:
                socket.send_fds(self._line, [_BEGIN], [control.fileno(), lease, life_line])
            except OSError:  # somebody ended it
                self.wait()
                return False
        return True

    def wait(self, timeout_s: float | None = None) -> int:
        """Return its exit code once it has ended. TimeoutExpired: it did not end in time."""
        deadline = Deadline.after(math.inf if timeout_s is None else timeout_s)
        while self._code is None:
            flags = 0 if timeout_s is None else os.WNOHANG
            pid, status = os.waitpid(self.pid, flags)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            elif not deadline.wait(_LOOK_S):
                raise subprocess.TimeoutExpired([str(self.pid)], timeout_s or 0.0)
        return self._code

    def kill(self) -> None:
        """End it at once, unless its end was seen."""
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)


def fork_seed(catalog: Catalog) -> ForkSeed | None:
    """Return a process that has the modules of this one; `catalog` is that of the hosts.

    Return None where a fork is not safe or not possible: on other systems than Linux, in a process with more than one
    thread, and where the machine has no room for a process.
    """

    def serve(control: int, lease: int, held: int) -> int:
        return fork_server.serve(control, lease, held, lambda: catalog)

    return forked(NAME, serve, dies_with_parent=True)


def forked(name: str, work: Work, *, dies_with_parent: bool) -> ForkSeed | None:
    """Return a process that waits to begin its `work`, or None as `fork_seed` does.

    The work gets the descriptors of `begin`, and returns the exit code. The process ends with this one if it has not
    begun, or if it `dies_with_parent`. Lists of processes show its `name`.
    """
    if not sys.platform.startswith("linux") or not _is_alone():
        return None
    line, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    worker = os.getpid()
    with its:
        try:
            pid = os.fork()
        except OSError:  # the machine has no room for it; the process is a program then
            line.close()
            return None
        if pid == 0:
            _wait_for_work(its, name, work, worker if dies_with_parent else None)
    return ForkSeed(line, pid)


def _is_alone() -> bool:
    """Tell if this process has a single thread, those of libraries included."""
    try:
        threads = len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return False  # nobody tells of the threads of libraries
    return threading.active_count() == threads == 1


def _wait_for_work(line: socket.socket, name: str, work: Work, worker: int | None) -> NoReturn:
    """Begin the work when the worker says so; end with the worker."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if worker is not None:
            die_with_parent(worker)
        _close_others(line.fileno())
        show_name(name)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        with line:
            said, descriptors, _, _ = socket.recv_fds(line, len(_BEGIN), _DESCRIPTORS)
        if said:
            python_child.make_safe()
            code = work(*descriptors)
        else:
            code = 0
    except BaseException:  # noqa: BLE001 - nothing may lead back into the worker's program
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _close_others(own: int) -> None:
    """Close all descriptors but the standard ones and one's own, as others wait for the ends of theirs."""
    for descriptor in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if descriptor >= _FIRST and descriptor != own:
            with suppress(OSError):  # that of the listing is closed by now
                os.close(descriptor)
