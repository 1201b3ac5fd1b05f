"""Starts task hosts through the fork server; this is the worker's side of it."""

from __future__ import annotations

import itertools
import json
import logging
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from connect.cluster.hosts.fork_seed import ForkSeed
from connect.cluster.hosts.host_process import MESSAGE_BYTES, exit_reason
from connect.cluster.hosts.task_host import LIMITS_FIX
from connect.lib import python_child

SERVER_GONE: Final = "ended with the fork server that made it"
NOT_MADE: Final = "was not made"
"""The reason of a host's end begins so if there never was a process."""
_logger = logging.getLogger(__name__)


class ServerProcess(Protocol):
    """Runs as a child of this process and is a fork server."""

    @property
    def pid(self) -> int:
        """Return the process id."""

    def wait(self) -> int:
        """Return its exit code once it has ended."""


class ForkedHosts:
    """Starts hosts, and starts their fork server, again if it has died. Any thread may call it."""

    def __init__(self, lease: int, held: int, seed: ForkSeed | None = None) -> None:
        """Take the descriptor of the lease that hosts watch, and `held`, the hosts' end of the life line.

        `seed` becomes the first server where it is given; the others are programs.
        """
        self._lease = lease
        self._held = held
        self._seed = seed
        self._lock = threading.Lock()  # the herder's thread asks for hosts, reader threads of hosts kill them
        self._server: _Server | None = None

    @property
    def server_pid(self) -> int:
        """Return the process id of the server; start the server if it does not run."""
        with self._lock:
            return self._running().pid

    def start(self, line: socket.socket, report: int) -> ForkedProcess:
        """Start a host with its end of the line and the descriptor of its crash report. Never waits."""
        with self._lock:
            return self._running().start(line, report)

    def close(self) -> None:
        """End the server, and with it every host."""
        with self._lock:
            if self._server is not None:
                self._server.close()

    def _running(self) -> _Server:
        if self._server is None or self._server.gone:
            self._server = _Server(self._started)
        return self._server

    def _started(self, control: socket.socket) -> ServerProcess:
        seed, self._seed = self._seed, None
        if seed is not None and seed.begin(control, self._lease, self._held):
            return seed
        descriptors = [control.fileno(), self._lease, self._held]
        return python_child.start(
            python_child.command("connect.cluster.hosts.fork_server", *map(str, descriptors)),
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            process_group=0,
        )


class ForkedProcess:
    """Stands for the process of a host, from the moment it is asked for."""

    def __init__(self, send: Callable[[signal.Signals], None]) -> None:
        self._send = send
        self._ended = threading.Event()
        self._reason = ""
        self.pid = 0
        """The process id; 0 until it is known."""

    def kill(self) -> None:
        """End it at once."""
        self._send(signal.SIGKILL)

    def abort(self) -> None:
        """End it with the stacks of its threads in its crash report."""
        self._send(signal.SIGABRT)

    def wait(self, timeout_s: float | None) -> str | None:
        """Return how the process ended; None if it did not end within the time."""
        return self._reason if self._ended.wait(timeout_s) else None

    def end(self, reason: str) -> None:
        """Take note that the process has ended; called by the thread that reads from the server."""
        self._reason = reason
        self._ended.set()


class _Server:
    """Holds one server process and the hosts it made."""

    def __init__(self, start: Callable[[socket.socket], ServerProcess]) -> None:
        """Start the process by `start`, which gets the process's end of the socket."""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._processes: dict[int, ForkedProcess] = {}
        self._numbers = itertools.count(1)
        self.gone = False
        self._told_to_end = False
        with theirs:
            self._server = start(theirs)
        self.pid = self._server.pid
        threading.Thread(target=self._read, name="fork-server-reader", daemon=True).start()

    def start(self, line: socket.socket, report: int) -> ForkedProcess:
        number = next(self._numbers)
        process = ForkedProcess(lambda number_of_signal: self.order({"kill": number, "signal": number_of_signal}))
        self._processes[number] = process
        try:
            socket.send_fds(self._control, [json.dumps({"number": number}).encode()], [line.fileno(), report])
        except OSError as error:
            process.end(f"{NOT_MADE}: the fork server is gone ({error})")
        return process

    def close(self) -> None:
        self._told_to_end = True
        try:
            self._control.shutdown(socket.SHUT_RDWR)
        except OSError as error:
            _logger.debug("fork_server_gone", extra={"error": str(error)})  # it has died, and its hosts with it

    def order(self, order: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(order).encode())
        except OSError as error:
            _logger.debug("fork_server_gone", extra={"error": str(error)})  # its hosts have ended with it

    def _read(self) -> None:
        try:
            while said := self._control.recv(MESSAGE_BYTES):
                self._take(json.loads(said))
        except OSError as error:
            _logger.debug("fork_server_line_broken", extra={"error": str(error)})
        self.gone = True
        code = self._server.wait()
        if self._processes and not self._told_to_end:
            _logger.error("fork_server_died", extra={"reason": exit_reason(code), "hosts": len(self._processes)})
        for process in tuple(self._processes.values()):
            process.end(SERVER_GONE)
        self._processes.clear()
        self._control.close()

    def _take(self, said: dict[str, Any]) -> None:
        process = self._processes[said["number"]]
        if "pid" in said:
            process.pid = said["pid"]
        elif "error" in said:
            del self._processes[said["number"]]
            process.end(f"{NOT_MADE}: {said['error']}. {LIMITS_FIX}")
        else:
            del self._processes[said["number"]]
            process.end(exit_reason(said["code"]))
