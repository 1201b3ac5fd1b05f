"""Runs a relay to a server, to cut connections: a process that passes bytes on, is killed, and starts again on its
port.

It is a separate process, so that its open sockets are not taken for those that a task has left open.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 65536
_LISTENING = b"listening\n"
_DROP, _HOLD, _DRIP, _FLOW = b"drop\n", b"hold\n", b"drip\n", b"flow\n"
_DRIP_S = 0.5


class ServerRelay:
    """Lets clients reach the server at `port` while the relay runs. When it is cut, connections end and new ones are
    refused.
    """

    def __init__(self, port: int, server_port: int) -> None:
        self.port = port
        self._server_port = server_port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        argv = [sys.executable, __file__, str(self.port), str(self._server_port)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == _LISTENING, "The relay does not listen."

    def drop_newest(self) -> None:
        """End the newest connection; the others stay, and new ones are accepted."""
        self._say(_DROP)

    def hold(self) -> None:
        """Accept connections, but pass nothing on to clients until `flow`."""
        self._say(_HOLD)

    def drip(self) -> None:
        """Pass a byte on to each client now and then, until `flow`."""
        self._say(_DRIP)

    def flow(self) -> None:
        """Pass on everything again."""
        self._say(_FLOW)

    def _say(self, command: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(command)
        self._process.stdin.flush()

    def cut(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class _Relay:
    """Passes bytes on between clients and the server, in one event loop."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._clients: list[asyncio.StreamWriter] = []
        self._way = _FLOW
        self._flows = asyncio.Event()
        self._flows.set()

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._clients.append(to_client)
        server, to_server = await asyncio.open_connection(LOOPBACK, self._server_port)
        await asyncio.gather(_pass_on(client, to_server), self._answer(server, to_client))

    def obey(self, command: bytes) -> None:
        """Do what the parent process says. It is called in the event loop."""
        if command == _DROP:
            self._clients[-1].close()
            return
        assert command in {_HOLD, _DRIP, _FLOW}, command
        self._way = command
        (self._flows.set if command == _FLOW else self._flows.clear)()

    async def _answer(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(_CHUNK_BYTES):
                for byte in chunk:
                    if self._flows.is_set():
                        break
                    await self._held_up()
                    target.write(bytes([byte]))
                    chunk = chunk[1:]
                target.write(chunk)
                await target.drain()
        target.close()

    async def _held_up(self) -> None:
        """Return when the next byte may be passed on: after a while if it drips, or when everything flows."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._flows.wait(), _DRIP_S if self._way == _DRIP else None)


async def _relay(port: int, server_port: int) -> None:
    relay, loop = _Relay(server_port), asyncio.get_running_loop()

    def obey(command: bytes) -> None:
        loop.call_soon_threadsafe(relay.obey, command)

    threading.Thread(target=_listen_to_parent, args=(obey,), daemon=True).start()
    async with await asyncio.start_server(relay.serve, LOOPBACK, port) as listener:
        os.write(1, _LISTENING)
        await listener.serve_forever()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await source.read(_CHUNK_BYTES):
            target.write(chunk)
            await target.drain()
    target.close()


def _listen_to_parent(obey: Callable[[bytes], object]) -> None:
    """Do what the parent process says, and end when the parent ends."""
    for line in sys.stdin.buffer:
        obey(line)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(_relay(int(sys.argv[1]), int(sys.argv[2])))
