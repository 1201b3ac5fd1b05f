"""Runs a network between brokers and workers of one machine in which any two of them can be cut off from each other.

Each address of a broker is that of a relay. By the port that a connection comes from, the relay finds out who makes it.
While two are cut off from each other, nothing passes between them and neither is told. Bytes that are under way arrive
when the two are connected again.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

from connect.tools.services.process.ports import LOOPBACK

_CHUNK_BYTES = 65536


class Network:
    """Knows the parties, and which of them are cut off. The test's thread and those of the relays use it."""

    def __init__(self) -> None:
        self.parties: dict[str, Callable[[], int | None]] = {}
        """Maps a party's name to a function that returns its process id, or None while it does not run. Its children
        count, too.
        """
        self._cut: set[frozenset[str]] = set()
        self._changed = threading.Condition()
        self._relays: list[_Relay] = []

    def relay(self, to: str, ports: Mapping[int, int]) -> None:
        """Pass connections to some ports on to a party; `ports` maps a port of the relay to the party's own."""
        self._relays += [_Relay(self, to, front, behind) for front, behind in ports.items()]

    def cut(self, one: str, *others: str) -> None:
        """Let nothing pass between one party and the others."""
        with self._changed:
            self._cut |= {frozenset({one, other}) for other in others}

    def mend(self) -> None:
        """Let everything pass."""
        with self._changed:
            self._cut.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """Stop the relays and close their connections."""
        self.mend()
        for relay in self._relays:
            relay.close()

    def wait_until_open(self, pair: frozenset[str]) -> None:
        """Return when the two are not cut off from each other."""
        with self._changed:
            self._changed.wait_for(lambda: pair not in self._cut)

    def owner(self, port: int) -> str:
        """Return the party that has made the connection from a port; an empty text for the test itself."""
        for name, pid_of in list(self.parties.items()):
            pid = pid_of()
            if pid is not None and port in _ports_of(pid):
                return name
        return ""


def _ports_of(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found |= {one.laddr.port for one in process.net_connections("tcp4")}
    return found


class _Relay:
    def __init__(self, network: Network, to: str, front: int, behind: int) -> None:
        self._network, self._to, self._behind = network, to, behind
        self._listener = socket.create_server((LOOPBACK, front), backlog=256)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # A shutdown wakes accept and recv in the other threads; a close alone does not.
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, (_, port) = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client, port), daemon=True).start()

    def _serve(self, client: socket.socket, port: int) -> None:
        pair = frozenset({self._network.owner(port), self._to})
        self._network.wait_until_open(pair)
        try:
            server = socket.create_connection((LOOPBACK, self._behind))
        except OSError:  # the party does not run, so the connection to it ends
            client.close()
            return
        self._open.append(server)
        threading.Thread(target=self._pass_on, args=(server, client, pair), daemon=True).start()
        self._pass_on(client, server, pair)

    def _pass_on(self, source: socket.socket, target: socket.socket, pair: frozenset[str]) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                self._network.wait_until_open(pair)
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
