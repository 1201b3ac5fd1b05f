"""Runs one command, and ends it when the process that asked for it ends for any reason, kill -9 included.

It runs as a script, in a session of its own. Standard input is a pipe from the owner: `t` asks the command to end, `k`
kills it, and the end of the file means that the owner is gone. The first line of standard output is the command's
process id, or `! ` and the reason why it could not be run. The command's output goes to standard error. The script
imports only the standard library, so that it starts in a few milliseconds. It must stay single-threaded: the kernel
sends the parent-death signal when the thread ends that made the child.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

TERMINATE: Final = b"t"
KILL: Final = b"k"
FAILED: Final = "! "

_PR_SET_PDEATHSIG: Final = 1  # This is its value in linux/prctl.h.
_OWNER_CHECK_INTERVAL_S: Final = 1.0


def main(argv: list[str]) -> int:
    """Guard the command that the arguments give, and return the exit code.

    The arguments are the owner's process id, the paths to remove if the owner dies (joined by the path separator), and
    the command.
    """
    owner_pid, leftovers, command = int(argv[0]), argv[1], argv[2:]
    wakeup = _wakeup_on(signal.SIGCHLD, signal.SIGTERM)
    try:
        child = subprocess.Popen(  # noqa: S603 -- the owner's command
            command,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            process_group=0,
            preexec_fn=_die_with_parent(os.getpid()),  # noqa: PLW1509 -- safe: this process has one thread
        )
    except OSError as error:
        _tell_owner(f"{FAILED}{error}")
        return 127
    _tell_owner(str(child.pid))
    owner_died = _watch(child, wakeup, owner_pid)
    if owner_died:
        _signal_group(child, signal.SIGKILL)
        child.wait()
        _remove(leftovers)
    return 0 if child.returncode == 0 else 1


def _watch(child: "subprocess.Popen[bytes]", wakeup_fd: int, owner_pid: int) -> bool:
    """Obey the owner until the command has ended; return True if the owner died first."""
    while child.poll() is None:
        readable, _, _ = select.select([0, wakeup_fd], [], [], _OWNER_CHECK_INTERVAL_S)
        if wakeup_fd in readable and signal.SIGTERM in os.read(wakeup_fd, 512):
            _signal_group(child, signal.SIGTERM)
        # A process that the owner has forked may hold a copy of the pipe; the owner's process id tells if the owner
        # lives.
        order = os.read(0, 1) if 0 in readable else None
        if order == b"" or os.getppid() != owner_pid:
            return True
        if order in {TERMINATE, KILL}:
            _signal_group(child, signal.SIGTERM if order == TERMINATE else signal.SIGKILL)
    return False


def _die_with_parent(parent_pid: int) -> Callable[[], None]:
    """Return a function that the child runs between fork and exec, so that it dies with its parent.

    On other systems than Linux only the pipe tells that the owner is gone.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def set_parent_death_signal() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:
            os._exit(1)

    return set_parent_death_signal


def _wakeup_on(*signals: signal.Signals) -> int:
    """Make a signal end the wait in `select`: its number can be read from the returned descriptor."""
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    signal.set_wakeup_fd(write_fd)
    for number in signals:
        signal.signal(number, _noted)
    return read_fd


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Do nothing. Python writes a signal to the wakeup descriptor only if the signal has a handler."""


def _signal_group(child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    if child.poll() is None:
        os.killpg(child.pid, number)


def _tell_owner(line: str) -> None:
    try:
        print(line, flush=True)  # noqa: T201 -- the protocol with the owner
    except BrokenPipeError:  # The owner is already gone; the pipe on standard input says so, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _remove(leftovers: str) -> None:
    for leftover in filter(None, leftovers.split(os.pathsep)):
        path = Path(leftover)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
