"""Runs a server of the standard library on a thread of its own, as long as a test needs it."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

ServerT = TypeVar("ServerT", bound=socketserver.BaseServer)


@contextmanager
def running(server: ServerT, over: threading.Event | None = None) -> Iterator[ServerT]:
    """Serve, and yield the server; close it at the end, and set `over` before, which ends answers without end."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        if over is not None:
            over.set()
        server.shutdown()
        server.server_close()
