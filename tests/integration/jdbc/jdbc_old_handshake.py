"""Runs a relay before a MariaDB that turns its handshake into that of an old server: `5.5.5-10.0.38-MariaDB`."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

VERSION = b"5.5.5-10.0.38-MariaDB"
_CHUNK_BYTES = 65536


class OldHandshake:
    """Relays connections to a port of this machine from entry to exit."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Cut every connection, and accept no more."""
        # A shutdown wakes accept and recv in the other threads; a close alone does not.
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._thread.join(5)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._open += [client, server]
                client.sendall(aged(_packet(server)))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_relay, args=(source, target), daemon=True).start()


def _packet(source: socket.socket) -> bytes:
    head = _exactly(source, 4)
    return head + _exactly(source, int.from_bytes(head[:3], "little"))


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = source.recv(size - len(data))
        if not received:
            raise ConnectionError("The server hung up in its handshake.")
        data += received
    return data


def aged(packet: bytes) -> bytes:
    """Return the handshake with another version. Source: MariaDB's protocol documentation, "Initial handshake
    packet".
    """
    end = packet.index(b"\0", 5)
    body = packet[4:5] + VERSION + packet[end:]
    return len(body).to_bytes(3, "little") + packet[3:4] + body


def _relay(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
