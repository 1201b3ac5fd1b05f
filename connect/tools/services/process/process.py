"""Supervises one process of the operating system, and lets it never outlive the process that started it."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connect.lib import python_child
from connect.tools.services.process import guard
from connect.tools.services.process.errors import ServiceStartError
from connect.tools.services.process.polling import poll_until

_KILL_DEADLINE_S: Final = 10.0
_TAIL_BYTES: Final = 16_000
_TAIL_LINES: Final = 12


@dataclass(frozen=True)
class Command:
    """Holds what to run: arguments, working folder, the file to which output is appended, and further variables.

    `leftovers` are files and folders that are removed if the starting process dies before it could remove them.
    """

    argv: Sequence[str]
    folder: Path
    log_path: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    leftovers: Sequence[Path] = ()


class SupervisedProcess:
    """Keeps a running command under a guard (see `guard`), in its own session, so that Ctrl-C does not reach it.

    It is owned by the thread that stops it; any thread may read `running` and `pid`.
    """

    def __init__(self, command: Command) -> None:
        self._log_path = command.log_path
        self._guard = _start_guard(command)
        first_line = self._guard.stdout.readline().decode().strip() if self._guard.stdout else ""
        if not first_line.isdigit():
            self._guard.wait()
            self._close_pipes()
            reason = first_line.removeprefix(guard.FAILED) or f"its guard ended at once: {self.log_tail()}"
            raise ServiceStartError(
                f"{command.argv[0]} cannot be run: {reason}.", fix="Check that it is installed and executable."
            )
        self.pid = int(first_line)

    @property
    def running(self) -> bool:
        return self._guard.poll() is None

    @property
    def succeeded(self) -> bool:
        """Return True if the command has ended with exit code 0."""
        return self._guard.poll() == 0

    def stop(self, grace_s: float) -> None:
        """Ask the process to end (SIGTERM), and kill it if it still runs after `grace_s` seconds."""
        self._order(guard.TERMINATE)
        if not self.wait(grace_s):
            self.kill()
        self._close_pipes()

    def kill(self) -> None:
        """Kill the process (SIGKILL), and return when it is gone."""
        self._order(guard.KILL)
        if not self.wait(_KILL_DEADLINE_S):
            self._guard.kill()
            self._guard.wait()
        self._close_pipes()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the process; return True if it has ended within `timeout_s` seconds."""
        try:
            self._guard.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def log_tail(self) -> str:
        """Return the last lines of the process's log."""
        return log_tail(self._log_path)

    def _order(self, order: bytes) -> None:
        if self._guard.stdin is None or self._guard.stdin.closed:
            return
        with suppress(BrokenPipeError):  # the process has ended already, as it should
            self._guard.stdin.write(order)

    def _close_pipes(self) -> None:
        for pipe in (self._guard.stdin, self._guard.stdout):
            if pipe is not None:
                pipe.close()


def run_to_end(command: Command, *, deadline_s: float, doing: str) -> bool:
    """Run a command, and return True if it succeeded. ServiceTimeoutError: it was killed after `deadline_s` seconds."""
    process = SupervisedProcess(command)
    try:
        poll_until(
            lambda: not process.running,
            deadline_s=deadline_s,
            waiting_for=doing,
            fix=f"See {command.log_path}.",
        )
    finally:
        process.kill()
    return process.succeeded


def log_tail(path: Path) -> str:
    """Return the last lines of a log for an error message, without the frames of Java's stack traces."""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        text = log.read().decode(errors="replace")
    lines = [line for line in text.splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-_TAIL_LINES:])


def _start_guard(command: Command) -> "subprocess.Popen[bytes]":
    leftovers = os.pathsep.join(str(path) for path in command.leftovers)
    command.log_path.parent.mkdir(parents=True, exist_ok=True)
    with command.log_path.open("ab") as log:
        return python_child.start(
            python_child.alone_command(guard.__file__, str(os.getpid()), leftovers, *command.argv),
            folder=command.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,
            env={**os.environ, **command.environ},
            start_new_session=True,
        )
