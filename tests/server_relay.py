"""The way to a server that can be cut: a process that passes bytes on, is killed, and is started again on its port.

A process of its own, so that the sockets it has open are not taken for ones that a task left behind.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import suppress

LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 65536
_LISTENING = b"listening\n"


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

    def cut(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


async def _relay(port: int, server_port: int) -> None:
    async def serve(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
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


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(_relay(int(sys.argv[1]), int(sys.argv[2])))
