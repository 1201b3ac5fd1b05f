"""A TCP server that speaks the first words of MariaDB's protocol, and then says what an attacker likes.

Source: MySQL's "Client/Server Protocol".
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_PROTOCOL_41, _SECURE, _PLUGIN_AUTH, _LOCAL_FILES = 1 << 9, 1 << 15, 1 << 19, 1 << 7


class Client:
    """The worker's side of one connection, and whatever it has sent."""

    def __init__(self, connected: socket.socket, heard: bytearray) -> None:
        self._socket = connected
        self._heard = heard

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("The client has hung up.")
            data += part
            self._heard += part
        return data

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def packet(self, sequence: int, body: bytes) -> None:
        """Send a packet of MySQL."""
        self.send(struct.pack("<I", len(body))[:3] + bytes([sequence]) + body)

    def asked(self) -> bytes:
        """Return the next packet of MySQL."""
        head = self.read(4)
        return self.read(int.from_bytes(head[:3], "little"))

    def greet(self, plugin: bytes = b"mysql_native_password") -> None:
        """Begin as MySQL does, and hear who signs in."""
        flags = _PROTOCOL_41 | _SECURE | _PLUGIN_AUTH | _LOCAL_FILES
        low, high = struct.pack("<I", flags)[:2], struct.pack("<I", flags)[2:]
        self.packet(0, b"\x0a8.0.40\0" + b"\1\0\0\0" + b"s" * 8 + b"\0" + low + b"\x2d\2\0" + high + b"\x15"
                    + b"\0" * 10 + b"s" * 12 + b"\0" + plugin + b"\0")  # fmt: skip
        self.asked()


Script = Callable[[Client], None]
OK = b"\0\0\0\2\0\0\0"


@contextmanager
def hostile_database(script: Script) -> Iterator[tuple[int, bytearray]]:
    """Run a server; its port, and all that its clients have sent."""
    heard = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk(connected: socket.socket) -> None:
            with connected, suppress(OSError):
                script(Client(connected, heard))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connected, _ = listener.accept()
                    threading.Thread(target=talk, args=(connected,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
