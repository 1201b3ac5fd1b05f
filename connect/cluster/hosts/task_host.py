"""Connects the worker to one task host, a child process that runs connector code.

It passes messages in both directions and does not know what the tasks do.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import orjson

from connect.api.errors import ConnectError
from connect.cluster.hosts.host_process import StartProcess
from connect.cluster.hosts.lease import LEASE_OVER
from connect.cluster.hosts.shared_memory import shared_memory
from connect.runtime.host.crash_report import REPORT_BYTES, lease_over_in, stacks_in, stages_in
from connect.runtime.task.messages import Message, decode, encode

EXIT_WAIT_S: Final = 3.0
"""A host has this many seconds to end after its line was closed; then it is killed."""

UNHEEDED: Final = "was killed: it gave no sign of life, and did not look at its lease either"
LIMITS_FIX: Final = (
    "Raise the limits of processes, threads and open files of the worker (ulimit -u and -n, pids.max of the container)."
)
_logger = logging.getLogger(__name__)


class CrashReport(NamedTuple):
    """Says what each run did when its host died, and holds the stacks of the host's threads if it could write them."""

    stages: Mapping[int, str]
    stacks: str


class HostListener(Protocol):
    """Hears a host, on the host's reader thread; each call must return at once."""

    def said(self, host: Host, message: Message) -> None:
        """Take a message that came."""

    def ended(self, host: Host, reason: str) -> None:
        """Take note that the process is gone; nothing more comes.

        `reason` is a sentence's end: "was ended by signal SIGKILL".
        """


class Host(Protocol):
    """Stands for a task host, as a supervisor uses it."""

    @property
    def name(self) -> str:
        """Return a name for logs."""

    @property
    def pid(self) -> int:
        """Return the process id; 0 until it is known."""

    def send(self, message: Message) -> None:
        """Say something; never waits."""

    def kill(self, reason: str) -> None:
        """End the process at once. `reason` becomes part of what `ended` tells."""

    def abort(self, reason: str) -> None:
        """End the process as `kill` does; unless it is too broken, the crash report has the stacks of its threads."""

    @property
    def crash_report(self) -> CrashReport:
        """Return what the process wrote at its end; complete once it has ended."""

    def close(self) -> None:
        """Ask the process to end by closing its line; never waits."""

    def resident_bytes(self) -> int:
        """Return the memory that the process holds; 0 when it is gone."""


class TaskHost:
    """Connects the worker to a running child process.

    Any thread may call it; a reader and a writer thread serve its line.
    """

    def __init__(
        self,
        name: str,
        worker: Mapping[str, str],
        listener: HostListener,
        start: StartProcess,
        lease_is_good: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start a host. `lease_is_good` tells if the worker may work now and its lease has not run out before.

        Raise ConnectError where the machine allows no further process, thread or descriptor. Nothing is left then.
        """
        self._name = name
        self._lease_is_good = lease_is_good
        self._listener = listener
        self._killed_because: str | None = None
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._outgoing.put(orjson.dumps(dict(worker)) + b"\n")
        self._left_behind = CrashReport({}, "")
        try:
            self._begin(start)
        except (OSError, RuntimeError) as error:
            raise ConnectError(f"Task host {name} could not be started: {error}.", fix=LIMITS_FIX) from error

    def _begin(self, start: StartProcess) -> None:
        with ExitStack() as undo:
            self._report = shared_memory("crash-report", REPORT_BYTES)
            undo.callback(os.close, self._report)
            self._line, child = socket.socketpair()
            undo.callback(self._line.close)
            with child:
                self._process = start(child, self._report)
            undo.callback(self._process.kill)
            undo.callback(self._outgoing.put, None)
            # The reader closes what is opened here, so it is started last.
            for target, what in ((self._write, "writer"), (self._read, "reader")):
                threading.Thread(target=target, name=f"{self._name}-{what}", daemon=True).start()
            undo.pop_all()

    @property
    def name(self) -> str:
        """Return a name for logs."""
        return self._name

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def send(self, message: Message) -> None:
        """Say something; never waits."""
        self._outgoing.put(encode(message))

    def kill(self, reason: str) -> None:
        """End the process at once."""
        if self._killed_because is None:
            self._killed_because = reason
        self._process.kill()

    def abort(self, reason: str) -> None:
        """End the process with the stacks of its threads in its crash report; `kill` is for when that fails."""
        if self._killed_because is None:
            self._killed_because = reason
        self._process.abort()

    @property
    def crash_report(self) -> CrashReport:
        """Return what the process wrote at its end; complete once it has ended."""
        return self._left_behind

    def close(self) -> None:
        """Ask the process to end by closing its line."""
        self._outgoing.put(None)

    def resident_bytes(self) -> int:
        """Return the memory that the process holds; 0 when it is gone."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _write(self) -> None:
        try:
            while (line := self._outgoing.get()) is not None:
                self._line.sendall(line)
            self._line.shutdown(socket.SHUT_WR)
            self._wait()
        except OSError as error:
            # The reader thread sees the same end, and reports it with the exit code.
            _logger.debug("task_host_line_broken", extra={"host": self._name, "error": str(error)})

    def _read(self) -> None:
        try:
            with self._line.makefile("rb") as lines:
                for line in lines:
                    self._take(line)
        except OSError as error:
            _logger.debug("task_host_line_broken", extra={"host": self._name, "error": str(error)})
        reason = self._wait()
        if self._killed_because is None and lease_over_in(self._report):
            # The lease of a worker that was frozen as well, or is out of its group, is not good by now.
            reason = UNHEEDED if self._lease_is_good() else LEASE_OVER
        self._left_behind = CrashReport(stages_in(self._report), stacks_in(self._report))
        os.close(self._report)
        self._outgoing.put(None)
        self._line.close()
        self._listener.ended(self, reason)

    def _take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except (ValueError, TypeError, KeyError):
            _logger.exception("task_host_message_not_understood", extra={"host": self._name, "size_bytes": len(line)})
            return
        self._listener.said(self, message)

    def _wait(self) -> str:
        ended = self._process.wait(EXIT_WAIT_S)
        if ended is None:
            self.kill("was killed: it went on after its line was closed")
            ended = self._process.wait(None) or "ended"
        return self._killed_because or ended
