"""Listening: sockets of the `listeners` setting, the address other workers use, and the thread of the event loop.

Bind first: the worker's id is its advertised host and port, which is known only when the sockets are bound.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web

from connect.api.errors import ConfigError
from connect.runtime.worker_config import WorkerConfig

_BACKLOG = 128
_WILDCARDS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not bound
_SHUTDOWN_S = 2.0


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound sockets, not yet served. `url` is where other workers reach this one."""

    sockets: Sequence[socket.socket]
    url: str

    @property
    def worker_id(self) -> str:
        """`host:port`, as statuses name this worker."""
        return urlsplit(self.url).netloc

    @property
    def ports(self) -> Sequence[int]:
        """The port of each listener."""
        return [int(bound.getsockname()[1]) for bound in self.sockets]

    def close(self) -> None:
        """Release the sockets; for a worker that never came to serve."""
        for bound in self.sockets:
            bound.close()


def bind(worker: WorkerConfig) -> Bound:
    """Bind every listener; port 0 takes a free one. ConfigError: a listener cannot be used."""
    sockets: list[socket.socket] = []
    try:
        sockets.extend(_bound(listener) for listener in worker.listeners)
        return Bound(sockets, _advertised(worker, int(sockets[0].getsockname()[1])))
    except BaseException:
        for bound in sockets:
            bound.close()
        raise


class RestServer:
    """Serves an application on bound sockets from a thread of its own. `start` and `stop` may be called once each."""

    def __init__(self, app: web.Application, bound: Bound) -> None:
        self._app = app
        self._bound = bound
        self._loop = asyncio.new_event_loop()
        self._started: Future[None] = Future()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)

    @property
    def url(self) -> str:
        """Where other workers reach this server."""
        return self._bound.url

    def start(self, timeout_s: float = 30.0) -> None:
        """Return when requests are answered; raises what kept the server from it."""
        self._thread.start()
        self._started.result(timeout_s)

    def stop(self, timeout_s: float = 10.0) -> None:
        """Answer no more; requests that are under way get two seconds. TimeoutError when the thread does not end."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise TimeoutError(f"The REST server at {self.url} did not stop in {timeout_s} s.")

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        runner = web.AppRunner(self._app, access_log=None, handle_signals=False, shutdown_timeout=_SHUTDOWN_S)
        try:
            await runner.setup()
            for bound in self._bound.sockets:
                await web.SockSite(runner, bound).start()
        except Exception as error:  # noqa: BLE001 - `start` raises it in the caller's thread
            self._started.set_exception(error)
        else:
            self._started.set_result(None)
            await self._stopping.wait()
        finally:
            await runner.cleanup()
            self._bound.close()


def _bound(listener: str) -> socket.socket:
    url = urlsplit(listener)
    try:
        port = 8083 if url.port is None else url.port
    except ValueError as error:
        raise ConfigError(f"Listener {listener}: {error}.", key="listeners") from error
    if url.scheme.lower() != "http" or not listener.partition("://")[2]:
        raise ConfigError(
            f"Listener {listener!r} is not of the form http://host:port.",
            key="listeners",
            fix="Use http, and a proxy for TLS.",
        )
    host = url.hostname or ""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"Cannot listen on {listener}: {error.strerror}.",
            key="listeners",
            fix="Free the port, or name another; port 0 takes a free one.",
        ) from error
    return bound


def _advertised(worker: WorkerConfig, port: int) -> str:
    listener = urlsplit(worker.listeners[0])
    scheme = worker.rest_advertised_listener or listener.scheme.lower()
    host = worker.rest_advertised_host_name or listener.hostname or ""
    if host in _WILDCARDS:
        host = _own_address()
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{worker.rest_advertised_port or port}"


def _own_address() -> str:
    """The address of this host's name; the loopback's when the name cannot be resolved."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
