"""Starts, ends and awaits the process of a task host; knows nothing of the messages to it."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from connect.lib import python_child

MESSAGE_BYTES: Final = 4096
"""No message between a worker and its fork server has more bytes."""


class HostProcess(Protocol):
    """A child process that has a task host in it. Any thread may call it."""

    @property
    def pid(self) -> int:
        """Return the process id; 0 until it is known."""

    def kill(self) -> None:
        """End it at once; do nothing if it has ended."""

    def abort(self) -> None:
        """Have it write the stacks of its threads to its crash report and end; a broken process may not do so."""

    def wait(self, timeout_s: float | None) -> str | None:
        """Return how it ended, in words that follow "the process"; None if not within `timeout_s` (None: for ever)."""


StartProcess = Callable[[socket.socket, int], HostProcess]
"""Starts a host that has this end of the line and this descriptor of its crash report; must return at once."""

HostCommand = Callable[[int], Sequence[str]]
"""Returns the command line of a host; the argument is the file descriptor of the host's line."""


class CommandProcess:
    """Holds a host that is a program of its own."""

    def __init__(self, line: socket.socket, command: HostCommand, inherited: Sequence[int] = ()) -> None:
        """Start the process. It inherits the descriptors of `inherited` beside that of its line."""
        # A group of its own: Ctrl-C must reach the worker alone, which then stops its hosts in order.
        self._process = python_child.start(
            command(line.fileno()),
            pass_fds=[line.fileno(), *inherited],
            stdin=subprocess.DEVNULL,
            process_group=0,
        )

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def abort(self) -> None:
        """End it with the stacks of its threads in its crash report."""
        self._process.send_signal(signal.SIGABRT)

    def wait(self, timeout_s: float | None) -> str | None:
        """Return how it ended, in words that follow "the process"; None if it did not end within the time."""
        try:
            return exit_reason(self._process.wait(timeout_s))
        except subprocess.TimeoutExpired:
            return None


def python_host(descriptor: int, lease: int, report: int) -> Sequence[str]:
    """Return the command line of a `leased_host`, which works only as long as the worker holds the lease."""
    given = ("--fd", descriptor, "--lease", lease, "--report", report)
    return python_child.command("connect.cluster.hosts.leased_host", *map(str, given))


def exit_reason(code: int) -> str:
    """Return how a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    hint = " (out of memory, or somebody killed it)" if -code == signal.SIGKILL else ""
    return f"was ended by signal {name}{hint}"
