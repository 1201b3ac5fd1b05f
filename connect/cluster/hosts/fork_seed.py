"""Forks a process off a worker while the worker has one thread. It becomes the fork server before the first host.

A worker has loaded most of the modules that its hosts need. A process that is forked from it has them already and
shares their memory, so the first host is there five times sooner than from a new interpreter. The process waits without
work, and loads the rest when it begins. It is made before the worker reads its file, so that it holds no key of
that file; keys of `--set` stand in the command line, which any user of the machine can read.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from connect.cluster.hosts import fork_server
from connect.cluster.hosts.process_name import show_name
from connect.lib import python_child
from connect.runtime.host.parent_death import die_with_parent

if TYPE_CHECKING:
    from connect.plugins.catalog import Catalog

NAME: Final = fork_server.__name__
"""The system's lists of processes show this name, as they do for a server that is a program."""
_BEGIN: Final = b"begin"
_DESCRIPTORS: Final = 3
"""The server gets three: its socket to the worker, the lease of the hosts, and their end of the life line."""


class ForkSeed:
    """Stands for the forked process, with the part of `subprocess.Popen` that the worker's side of a server uses."""

    def __init__(self, line: socket.socket, pid: int) -> None:
        self._line = line
        self.pid = pid

    def begin(self, control: socket.socket, lease: int, held: int) -> bool:
        """Let the process be the fork server from now on. Return False if it is gone; call this once."""
        with self._line:
            try:
                socket.send_fds(self._line, [_BEGIN], [control.fileno(), lease, held])
            except OSError:  # somebody ended it
                self.wait()
                return False
        return True

    def wait(self) -> int:
        """Return its exit code once it has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def fork_seed(catalog: Catalog) -> ForkSeed | None:
    """Return a process that has the modules of this one; `catalog` is that of the hosts.

    Return None where a fork is not safe or not possible: on other systems than Linux, in a process with more than one
    thread, and where the machine has no room for a process.
    """
    if not sys.platform.startswith("linux") or not _is_alone():
        return None
    line, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    worker = os.getpid()
    with its:
        try:
            pid = os.fork()
        except OSError:  # the machine has no room for it; the server is started with the first host then
            line.close()
            return None
        if pid == 0:
            line.close()
            _wait_for_work(its, worker, catalog)
    return ForkSeed(line, pid)


def _is_alone() -> bool:
    """Tell if this process has a single thread, those of libraries included."""
    try:
        threads = len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return False  # nobody tells of the threads of libraries
    return threading.active_count() == threads == 1


def _wait_for_work(line: socket.socket, worker: int, catalog: Catalog) -> NoReturn:
    """Become the fork server when the worker says so; end with the worker."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        die_with_parent(worker)
        show_name(NAME)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        with line:
            said, descriptors, _, _ = socket.recv_fds(line, len(_BEGIN), _DESCRIPTORS)
        if said:
            python_child.make_safe()
            control, lease, held = descriptors
            code = fork_server.serve(control, lease, held, lambda: catalog)
        else:
            code = 0
    except BaseException:  # noqa: BLE001 - nothing may lead back into the worker's program
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
