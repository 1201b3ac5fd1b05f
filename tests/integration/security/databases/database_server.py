"""Runs a TCP server in place of a database; a script gives its answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from hostile_texts import MIB

PASSWORD = "Kx7-database-9Qz"


class Client:
    """Holds the worker's side of one connection, and everything that it has sent."""

    def __init__(self, connected: socket.socket, heard: bytearray, over: threading.Event) -> None:
        self._socket = connected
        self._heard = heard
        self.over = over

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes that the worker sends."""
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("The client has hung up.")
            data += part
            self._heard += part
        return data

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._socket.sendall(data)

    def repeat(self, data: bytes) -> None:
        """Send the same bytes until nobody listens, a MiB at a time."""
        part = data * max(1, MIB // len(data))
        while not self.over.is_set():
            self.send(part)

    def drip(self, part: bytes = b"\0") -> None:
        """Send a part every 50 ms, for ever."""
        while not self.over.wait(0.05):
            self.send(part)


ClientT = TypeVar("ClientT", bound=Client)


@contextmanager
def listening(kind: type[ClientT], script: Callable[[ClientT], None]) -> Iterator[tuple[int, bytearray]]:
    """Run a server whose connections the script answers; yield its port, and the bytes that its clients have sent."""
    heard, over = bytearray(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk(connected: socket.socket) -> None:
            with connected, suppress(OSError):
                script(kind(connected, heard, over))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connected, _ = listener.accept()
                    threading.Thread(target=talk, args=(connected,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
