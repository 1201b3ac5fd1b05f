"""Runs a broker that some workers only reach through a relay. If the relay is cut, nothing passes and no side is
told.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from connect.tools.services import KafkaService
from connect.tools.services.process.ports import LOOPBACK, free_ports

_CHUNK_BYTES = 65536


class KafkaRelay:
    """Passes bytes on between clients and a port of this machine. Bytes that are under way when it is cut arrive
    later.
    """

    def __init__(self, port: int, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server((LOOPBACK, port))
        self._open: list[socket.socket] = []
        self._flowing = threading.Event()
        self._flowing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._flowing.clear()

    def mend(self) -> None:
        self._flowing.set()

    def close(self) -> None:
        self._flowing.set()
        # A shutdown wakes accept and recv in the other threads; a close alone does not.
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((LOOPBACK, self._server_port))
                self._open += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                self._flowing.wait()
                target.sendall(data)
            self._flowing.wait()
            target.shutdown(socket.SHUT_WR)


class RelayedKafka(NamedTuple):
    """Holds a broker, and its addresses without and with the relay."""

    bootstrap_servers: str
    relayed_servers: str
    relay: KafkaRelay


@contextmanager
def relayed_kafka() -> Iterator[RelayedKafka]:
    """Yield the broker. It has a separate listener for clients of the relay, as it tells clients to which address to
    return.
    """
    broker, controller, behind, front = free_ports(4)
    own = {
        "listeners": f"PLAINTEXT://{LOOPBACK}:{broker},RELAYED://{LOOPBACK}:{behind},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{broker},RELAYED://{LOOPBACK}:{front}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,RELAYED:PLAINTEXT",
    }
    with KafkaService(ports={"broker": broker, "controller": controller}, properties=own) as kafka:
        relay = KafkaRelay(front, behind)
        try:
            yield RelayedKafka(kafka.endpoint.bootstrap_servers, f"{LOOPBACK}:{front}", relay)
        finally:
            relay.close()
