"""Runs clients that send a worker requests over many connections and from several addresses, in a separate process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PER_ADDRESS = 40
"""These are more requests than a worker works on for one client at a time."""
SENT = """
import asyncio, pickle, sys
port, per_address, addresses = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
requests, answers = pickle.load(sys.stdin.buffer), 0
async def client(address, number):
    global answers
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=1 << 26)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        try:
            writer.write(requests[number % len(requests)])
            number += 1
            await reader.readuntil(b"\\r\\n\\r\\n")
            answers += 1
            print(answers, flush=True)
            while await reader.read(1 << 20): pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the worker made room by closing it
        finally:
            writer.close()
async def main():
    await asyncio.gather(*(client(address, number) for address in addresses for number in range(per_address)))
asyncio.run(main())
"""


@contextmanager
def busy_clients(port: int, requests: Sequence[bytes], addresses: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Send the requests again and again until the end of the block; the process writes a line for each answer."""
    argv = [sys.executable, "-I", "-c", SENT, str(port), str(PER_ADDRESS), *addresses]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as clients:
        assert clients.stdin is not None
        clients.stdin.write(pickle.dumps(requests))
        clients.stdin.close()
        try:
            yield clients
        finally:
            clients.kill()
