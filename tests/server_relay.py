"""The way to a server that can be cut: a process that passes bytes on, is killed, and is started again on its port.

A process of its own, so that the sockets it has open are not taken for ones that a task left behind.
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
_DROP = b"drop\n"


class ServerRelay:
    """Clients reach the server at `port` while the relay runs; cut, they are refused and their connections end."""

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
        """End the connection that was made last; the others stay, and new ones are taken."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(_DROP)
        self._process.stdin.flush()

    def cut(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


async def _relay(port: int, server_port: int) -> None:
    clients: list[asyncio.StreamWriter] = []
    loop = asyncio.get_running_loop()

    def drop_newest() -> None:
        loop.call_soon_threadsafe(clients[-1].close)

    threading.Thread(target=_listen_to_parent, args=(drop_newest,), daemon=True).start()

    async def serve(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        clients.append(to_client)
        server, to_server = await asyncio.open_connection(LOOPBACK, server_port)
        await asyncio.gather(_pass_on(client, to_server), _pass_on(server, to_client))

    async with await asyncio.start_server(serve, LOOPBACK, port) as listener:
        os.write(1, _LISTENING)
        await listener.serve_forever()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await source.read(_CHUNK_BYTES):
            target.write(chunk)
            await target.drain()
    target.close()


def _listen_to_parent(drop_newest: Callable[[], object]) -> None:
    """Do as the parent says, and end when it does."""
    for line in sys.stdin.buffer:
        assert line == _DROP, line
        drop_newest()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(_relay(int(sys.argv[1]), int(sys.argv[2])))
