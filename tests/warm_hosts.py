"""Gives a worker's task hosts a fork server that comes from a process with the hosts' modules loaded.

Loading them takes four times as long as starting the worker itself, and tests start hundreds. A worker that
`warm_server` forks first forks a spare process, while it has only one thread. When the worker starts its fork server,
it tells the spare process to become it: the same kind of child, with the same descriptors. If that one ends, the worker
starts the next as every worker does.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from connect.cluster.hosts import fork_server
from connect.lib import python_child
from connect.runtime.host.parent_death import die_with_parent

_MOST_DESCRIPTORS: Final = 8
_LIBRARIES: Final = (
    "sqlalchemy", "sqlalchemy.dialects.mysql", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite",
    "psycopg", "pymysql", "google.cloud.bigquery", "pyarrow.fs", "pyarrow.parquet",
)  # fmt: skip
"""Our connectors load these libraries in each host. The connectors themselves are loaded in the hosts, as
everywhere.
"""
_SERVER: Final = fork_server.__name__


def load() -> None:
    """Load the modules that all hosts need, and the libraries of most connectors."""
    fork_server.set_up_libraries()
    fork_server.load_shared()
    for library in _LIBRARIES:
        importlib.import_module(library)


def keep_spare() -> None:
    """Fork the spare process, and let the next start of a fork server use it."""
    start, spares = python_child.start, [_Spare()]

    def start_warm(argv: Sequence[str], **options: Any) -> subprocess.Popen[Any] | _Spare:
        if _SERVER in argv and spares:
            return spares.pop().begin(options["pass_fds"])
        return start(argv, **options)

    python_child.start = start_warm


class _Spare:
    """Stands for the process that becomes the fork server, with the part of `subprocess.Popen` that a worker uses."""

    def __init__(self) -> None:
        self._line, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        worker = os.getpid()
        with its:
            self.pid = os.fork()
            if self.pid == 0:
                self._line.close()
                _wait_for_work(its, worker)

    def begin(self, descriptors: Sequence[int]) -> _Spare:
        """Let the process begin, with these descriptors as its arguments."""
        assert len(descriptors) <= _MOST_DESCRIPTORS
        with self._line:
            socket.send_fds(self._line, [b"begin"], descriptors)
        return self

    def wait(self) -> int:
        """Return its exit code once it has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _wait_for_work(line: socket.socket, worker: int) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        die_with_parent(worker)
        with line:
            said, descriptors, _, _ = socket.recv_fds(line, 16, _MOST_DESCRIPTORS)
        if said:
            os.environ.update(python_child.safe_variables(os.environ))
            sys.argv = [_SERVER, *map(str, descriptors)]
            code = fork_server.main()
    finally:
        os._exit(code)
