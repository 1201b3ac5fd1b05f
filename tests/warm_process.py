"""Starts `connect` commands as processes that need not load their modules, which takes most of the time of a start.

A run starts hundreds of workers. Each is forked from `warm_server`, of which there is one for each process of the run.
From then on it is like a command that a person starts: it has its own arguments, environment, folder, outputs and
process id.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import warm_server


class WarmProcess:
    """Stands for a command that was started, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._pipe = pipe

    def poll(self) -> int | None:
        """Return the exit code, which is negative for a signal; None while the command runs."""
        if self.returncode is None and select.select([self._pipe], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout_s: float) -> int:
        """Wait for the command, and return its exit code. subprocess.TimeoutExpired: it still runs."""
        if self.returncode is None:
            if not select.select([self._pipe], [], [], timeout_s)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout_s)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send the command a signal. It is no error if the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the command, as a crash would."""
        self.send_signal(signal.SIGKILL)

    def _end(self) -> None:
        self.returncode = _number(self._pipe)
        os.close(self._pipe)


def start(argv: list[str], *, folder: Path, environ: Mapping[str, str], stdout: int, stderr: int) -> WarmProcess:
    """Start `connect` with these arguments. It keeps copies of the descriptors of its outputs."""
    reads, writes = os.pipe()
    try:
        order = json.dumps({"argv": argv, "folder": str(folder), "environ": dict(environ)}).encode()
        assert len(order) < warm_server.MESSAGE_BYTES, "The environment is too large."
        socket.send_fds(_server(), [order], [stdout, stderr, writes])
    finally:
        os.close(writes)
    return WarmProcess(_number(reads), reads)


def _number(pipe: int) -> int:
    said = b""
    while not said.endswith(b"\n"):
        more = os.read(pipe, 1)
        assert more, "The process that forks commands is gone."
        said += more
    return int(said)


@cache
def _server() -> socket.socket:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [sys.executable, warm_server.__file__, "--fd", str(its.fileno())]
    # The server finds its modules beside itself, also after a test of Spark, whose children must not do that.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    server = subprocess.Popen(
        argv, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, start_new_session=True, env=environ
    )
    its.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours
