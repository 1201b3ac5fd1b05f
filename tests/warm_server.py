"""Forks `connect` commands from a process that has loaded their modules: `--fd N`. See `warm_process`.

N is a socket that keeps messages apart. Each message on it is one command, `{"argv", "folder", "environ"}`, with the
descriptors of its standard output, its standard error and a pipe. The command's process id and in the end its exit code
are written to the pipe, each on a line. When the other end of N is gone, all commands are killed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

MESSAGE_BYTES: Final = 120_000
COLD_HOSTS: Final = "CONNECT_TESTS_COLD_HOSTS"
"""A worker with this variable in its environment starts its fork server as everywhere, and loads what hosts need."""


def load() -> None:
    """Load what a worker and its task hosts load before they have a second thread."""
    import warm_hosts

    import connect.cli.worker
    import connect.cluster.worker_file
    import connect.rest.rest_server
    import connect.worker.app  # noqa: F401
    from connect.plugins.catalog import Catalog

    Catalog.installed()
    warm_hosts.load()
    threads = list(Path("/proc/self/task").iterdir())
    assert len(threads) == 1, f"{len(threads)} threads: a fork would lose all but one of them."
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> list[str]:
    """Fork commands until the other end is gone. In each command this returns the command's arguments."""
    woken, wakeup = socket.socketpair()
    for end in (woken, wakeup):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, _noticed)
    signal.set_wakeup_fd(wakeup.fileno())
    pipes: dict[int, int] = {}
    while True:
        readable, _, _ = select.select([control, woken], [], [])
        if woken in readable:
            woken.recv(4096)
            _reap(pipes)
        if control in readable:
            said, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 3)
            if not said:
                for pid in pipes:
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for ours in (*pipes.values(), descriptors[2]):
                    os.close(ours)
                for end in (control, woken, wakeup):
                    end.close()
                return _become(json.loads(said), descriptors)
            os.close(descriptors[0])
            os.close(descriptors[1])
            pipes[pid] = descriptors[2]
            os.write(descriptors[2], f"{pid}\n".encode())


def _become(order: dict[str, Any], descriptors: list[int]) -> list[str]:
    os.setsid()
    for number, descriptor in enumerate(descriptors[:2], start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.path[1:1] = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    arguments: list[str] = order["argv"]
    return arguments


def _reap(pipes: dict[int, int]) -> None:
    while pipes:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        pipe = pipes.pop(pid)
        try:
            os.write(pipe, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        except BrokenPipeError:
            continue  # nobody waits for this command any more
        finally:
            os.close(pipe)


def _noticed(number: int, frame: FrameType | None) -> None:
    """Do nothing: the handler only exists so that the end of a child wakes the loop."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    load()
    arguments = serve(socket.socket(fileno=parser.parse_args().fd))
    from connect.cli import main
    from connect.cluster.hosts import fork_seed

    if COLD_HOSTS in os.environ:
        fork_seed.fork_seed = lambda catalog: None
    sys.argv = ["connect", *arguments]
    main(arguments)
