"""Makes task hosts by forking: `fork_server N LEASE HELD`.

The modules that every host needs are loaded here once, and shared in memory. That happens for the first host, at the
first sign of work: an idle worker holds no such memory. A forked host starts in milliseconds, while a new interpreter
needs a second or two to load Arrow and the rest. The process has one thread and no connections, so that it is safe to
fork; plug-ins are loaded in the hosts only. It ends with its worker, and its hosts end with it. LEASE is the descriptor
of the hosts' lease, and HELD is the end of the `life_line` that each host keeps open.

A worker's first server is forked from the worker itself (`fork_seed`). If that one ends, the next is this program.

N is the descriptor of a socket that keeps messages apart. The worker sends `{"number"}` with the descriptors of a
host's line and of its crash report to start a host, or `{"kill": number, "signal"}` to end one. The server answers with
`{"number", "pid"}` when the host is started, with `{"number", "error"}` when the machine refused it, and with
`{"number", "code"}` when it has ended.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from connect.cluster.hosts.host_process import MESSAGE_BYTES
from connect.cluster.hosts.lease import watch
from connect.runtime.host.freed_memory import share_arenas
from connect.runtime.host.import_without_gc import loading
from connect.runtime.host.parent_death import die_with_parent

if TYPE_CHECKING:
    from connect.plugins.catalog import Catalog

SHARED: Final = (
    "connect.runtime.host.host",
    "connect.cluster.hosts.host_validation",
    "confluent_kafka",
    "confluent_kafka.admin",
    "pyarrow",
    "pyarrow.compute",
    "orjson",
    "connect.convert.json.converter",
    "connect.convert.plain.simple_header",
)
"""These modules are loaded before the first host is made: nearly every host needs them, and they start no thread."""

WITHOUT_THREADS: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""The settings with which these libraries start no thread when they are loaded: it would not survive the fork."""

_GIVEN: Final = 2
"""A host is given two descriptors: its end of the line, and that of its crash report."""
SMALL_HEAPS: Final = {"MIMALLOC_ARENA_EAGER_COMMIT": "0"}
"""Arrow's allocator has a heap for each thread. With this, a heap takes what is used, not a megabyte at once."""


def set_up_libraries() -> None:
    """Have libraries start no threads and use little memory, unless the environment says otherwise."""
    for name, value in {**WITHOUT_THREADS, **SMALL_HEAPS}.items():
        os.environ.setdefault(name, value)
    share_arenas()


def load_shared() -> None:
    """Load the modules that all hosts share."""
    for module in SHARED:
        importlib.import_module(module)
    # pyarrow loads pandas, if that is installed, for its first array. So it is loaded once for all hosts.
    importlib.import_module("pyarrow").array([None])


class ForkServer:
    """Forks task hosts when the worker says so. Owned by the one thread of its process."""

    def __init__(self, control: socket.socket, lease: int, find_catalog: Callable[[], Catalog]) -> None:
        """Take the socket to the worker and the lease's descriptor. `find_catalog` is called for the first host."""
        self._control = control
        self._lease = lease
        self._find_catalog = find_catalog
        self._catalog: Catalog | None = None
        self._numbers: dict[int, int] = {}
        self._ended, wakeup = socket.socketpair()
        self._wakeup = wakeup
        for end in (self._ended, wakeup):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, _noticed)
        signal.set_wakeup_fd(wakeup.fileno())

    def serve(self) -> None:
        """Carry out the worker's messages until the worker is gone."""
        while True:
            readable, _, _ = select.select([self._control, self._ended], [], [])
            if self._ended in readable:
                self._ended.recv(MESSAGE_BYTES)
                self._reap()
            if self._control in readable and not self._obey():
                return

    def _obey(self) -> bool:
        said, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 2)
        if not said:
            return False
        order = json.loads(said)
        if "kill" in order:
            for pid in [pid for pid, number in self._numbers.items() if number == order["kill"]]:
                os.kill(pid, order["signal"])
            return True
        self._load()
        with ExitStack() as given:
            for descriptor in descriptors:
                given.callback(os.close, descriptor)
            server = os.getpid()
            try:
                pid = _forked(descriptors)
            except OSError as error:
                # The other hosts live on: they end with this process, so it must not end of one that is refused.
                self._tell({"number": order["number"], "error": str(error)})
                return True
            if pid == 0:
                self._become_host(server, descriptors)
        self._numbers[pid] = order["number"]
        self._tell({"number": order["number"], "pid": pid})
        return True

    def _load(self) -> None:
        if self._catalog is None:
            # The objects that exist then live as long as any host; a later collection would copy their pages into each.
            with loading():
                load_shared()
                from connect.runtime.host.shared_settings import build_shared_settings

                self._catalog = self._find_catalog()
                # Each host would import the settings of its connectors.
                for plugin in self._catalog.plugins():
                    _ = plugin.found_config
                build_shared_settings(self._catalog)

    def _become_host(self, server: int, descriptors: Sequence[int]) -> NoReturn:
        try:
            from connect.cluster.hosts.host_validation import validate_in_host
            from connect.runtime.host.host import run_host

            line, report = socket.socket(fileno=descriptors[0]), descriptors[1]
            die_with_parent(server)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for ours in (self._control, self._ended, self._wakeup):
                ours.close()
            # A group of its own: Ctrl-C must reach the worker alone, which then stops its hosts in order.
            os.setpgid(0, 0)
            watch(self._lease, report)
            run_host(line, report, validate_in_host, self._catalog)
        except BaseException:  # noqa: BLE001 - nothing may lead back into the server's loop
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)

    def _reap(self) -> None:
        while self._numbers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._tell({"number": self._numbers.pop(pid), "code": os.waitstatus_to_exitcode(status)})

    def _tell(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())


def _forked(descriptors: Sequence[int]) -> int:
    """Fork, and return the process id, which is 0 in the child. OSError: the machine refuses it."""
    if len(descriptors) < _GIVEN:  # there was no room for one of them
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return os.fork()


def _noticed(number: int, frame: FrameType | None) -> None:
    """Do nothing: this is only there so that the end of a child wakes the loop."""


def serve(control: int, lease: int, held: int, find_catalog: Callable[[], Catalog]) -> int:
    """Make task hosts until the worker is gone, and return the exit code. See the module for the descriptors."""
    os.set_inheritable(held, False)  # a program that a connector starts is no host
    set_up_libraries()
    try:
        ForkServer(socket.socket(fileno=control), lease, find_catalog).serve()
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the worker is gone
    return 0


def _installed() -> Catalog:
    from connect.plugins.catalog import Catalog

    return Catalog.installed()


def main() -> int:
    """Make task hosts until the worker is gone."""
    control, lease, held = (int(descriptor) for descriptor in sys.argv[1:])
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return serve(control, lease, held, _installed)


if __name__ == "__main__":
    sys.exit(main())
