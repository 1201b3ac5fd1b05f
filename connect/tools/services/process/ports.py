"""Finds loopback ports that are free, and names the process that listens on a port."""

import random
import socket
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from connect.lib.deadline import Deadline
from connect.tools.services.process.errors import PortTakenError, ServiceError

LOOPBACK: Final = "127.0.0.1"

# These ports are below the range from which Linux, macOS and Windows take the local ports of outgoing connections.
# While a service is down, a client that dials its port again and again could get this very port as its own, if it were
# in that range. The client would then talk to itself, and the service could not have its port back.
_CANDIDATES: Final = range(15_000, 32_000)
_LOOK_S: Final = 0.02
_LISTENING: Final = "0A"  # This value is in the state column of /proc/net/tcp.


def free_ports(count: int) -> tuple[int, ...]:
    """Return `count` different loopback ports on which nobody listens.

    Each port is held while the others are looked for, and all are released on return, so use them soon.
    """
    with ExitStack() as held:
        ports: list[int] = []
        for port in random.sample(_CANDIDATES, k=len(_CANDIDATES)):
            if len(ports) == count:
                return tuple(ports)
            probe = held.enter_context(_socket())
            if _bound(probe, port):
                ports.append(port)
    raise ServiceError(
        f"No {count} free ports between {_CANDIDATES.start} and {_CANDIDATES.stop}.",
        fix="Stop some of the listening processes.",
    )


def require_free(ports: Iterable[int], wait_s: float = 1.0) -> None:
    """Raise PortTakenError for the first of `ports` on which somebody still listens after `wait_s` seconds.

    A process that another thread has just forked holds every port that was probed at that moment, until it runs its own
    program; so the check is repeated.
    """
    deadline = Deadline.after(wait_s)
    for port in ports:
        while not _is_free(port):
            if not deadline.wait(_LOOK_S):
                raise PortTakenError(port, owner=listener_of(port))


def _is_free(port: int) -> bool:
    with _socket() as probe:
        return _bound(probe, port)


def accepts_connections(port: int, address: str = LOOPBACK) -> bool:
    """Tell if somebody listens on the port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((address, port)) == 0


def listener_of(port: int) -> str | None:
    """Return the process that listens on the port, as `name (pid 12)`; None if the system does not say."""
    inodes = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _listening_inodes(table, port)}
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is another user's process, or one that ended meanwhile
            if any(_target(fd) in inodes for fd in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return None


def _target(descriptor: Path) -> str:
    """Return what a descriptor of a process refers to; an empty text if it was closed meanwhile."""
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""


def _socket() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Connections of a stopped service that are closed must not make its port count as taken.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return listener


def _bound(listener: socket.socket, port: int) -> bool:
    try:
        listener.bind((LOOPBACK, port))
        # With SO_REUSEADDR two sockets may have a port until one of them listens.
        listener.listen(1)
    except OSError:
        return False
    return True


def _listening_inodes(table: str, port: int) -> list[str]:
    path = Path("/proc/net", table)
    if not path.exists():
        return []
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    return [row[9] for row in rows if row[3] == _LISTENING and row[1].endswith(f":{port:04X}")]
