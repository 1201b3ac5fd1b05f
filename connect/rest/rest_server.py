"""Holds a worker's REST server: its sockets, its application, and the thread of its event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Final

from aiohttp import web

from connect.cluster.model.operations import Operations
from connect.plugins.catalog import Catalog
from connect.rest.app import admin_app, rest_app
from connect.rest.errors.client_errors import client_errors_in_one_line
from connect.rest.server.connections import CONNECTIONS, TLS_S, Connections, ConnectionTimeouts
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import BACKLOG, Bound, Listener, bind
from connect.rest.tls.renewal import Renewal
from connect.runtime.settings.worker_config import WorkerConfig

CONNECTIONS_MAX: Final = 256
_SHUTDOWN_S: Final = 1.0
"""aiohttp waits this long for requests under way, cancels them, and waits as long again."""


class RestServer:
    """Serves one worker. The sockets are bound when it is built, so that `url` names the worker before it starts."""

    def __init__(
        self,
        worker: WorkerConfig,
        operations: Operations,
        catalog: Catalog,
    ) -> None:
        bound = bind(worker)
        context = RestContext(operations, catalog, worker, worker_id=bound.worker_id)
        try:
            self.app = rest_app(context)
            admin = admin_app(context) if bound.admin else None
            self._thread = HttpThread(self.app, bound, admin, worker.rest_connections_max)
        except BaseException:
            bound.close()
            raise

    @property
    def url(self) -> str:
        """Return the address at which other workers reach this one."""
        return self._thread.url

    def start(self, timeout_s: float = 30.0) -> str:
        """Begin to answer requests, and return the URL."""
        self._thread.start(timeout_s)
        return self.url

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop answering requests; do nothing if it has not started, or has stopped."""
        self._thread.stop(timeout_s)


class HttpThread:
    """Serves an application on bound sockets, and another on admin sockets, from a thread of its own.

    Call `start` once.
    """

    def __init__(
        self,
        app: web.Application,
        bound: Bound,
        admin: web.Application | None = None,
        connections_max: int = CONNECTIONS_MAX,
        patience: ConnectionTimeouts | None = None,
    ) -> None:
        """Take the applications, their sockets and the limits of connections.

        Each listener has at most `connections_max` connections at a time. `patience` says how long a connection may
        keep the server waiting.
        """
        self._connections_max = connections_max
        self._patience = patience or ConnectionTimeouts()
        self._app = app
        self._admin = admin
        self._bound = bound
        self._loop = asyncio.new_event_loop()
        self._started: Future[None] = Future()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)

    @property
    def url(self) -> str:
        """Return the address at which other workers reach this server."""
        return self._bound.url

    def start(self, timeout_s: float = 30.0) -> None:
        """Start the thread, and return when requests are answered. Raise the error with which the start failed."""
        self._thread.start()
        self._started.result(timeout_s)

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop answering; requests under way get one second. TimeoutError: the thread does not end within
        `timeout_s`.
        """
        if self._thread.ident is None:
            self._bound.close()
            return
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
        client_errors_in_one_line()
        served = [(self._app, self._bound.main)]
        if self._admin is not None:
            served.append((self._admin, self._bound.admin or ()))
        # Bodies are decompressed by `request_body`, which limits their size.
        runners = [
            web.AppRunner(
                app, access_log=None, handle_signals=False, shutdown_timeout=_SHUTDOWN_S, auto_decompress=False
            )
            for app, _ in served
        ]
        servers: list[asyncio.Server] = []
        try:
            for runner, (app, listeners) in zip(runners, served, strict=True):
                await runner.setup()
                servers += [await self._listen(runner, app, listener) for listener in listeners]
        except Exception as error:  # noqa: BLE001 - `start` raises it in the caller's thread
            self._started.set_exception(error)
        else:
            self._started.set_result(None)
            async with AsyncExitStack() as stack:
                for renewal in self._renewals():
                    await stack.enter_async_context(renewal.running())
                await self._stopping.wait()
        finally:
            for server in servers:
                server.close()
            for runner in runners:
                await runner.cleanup()
            await _end_tasks()
            self._bound.close()

    def _renewals(self) -> set[Renewal]:
        listeners = (*self._bound.main, *(self._bound.admin or ()))
        return {listener.renewal for listener in listeners if listener.renewal is not None}

    async def _listen(self, runner: web.AppRunner, app: web.Application, listener: Listener) -> asyncio.Server:
        assert runner.server is not None
        connections = Connections(runner.server, self._connections_max, self._patience)
        app[CONNECTIONS].append(connections)
        timeout_s = TLS_S if listener.tls is not None else None
        return await self._loop.create_server(
            connections,
            sock=listener.bound,
            ssl=listener.tls,
            ssl_handshake_timeout=timeout_s,
            backlog=BACKLOG,  # asyncio calls listen again, and so sets the backlog again.
        )


async def _end_tasks() -> None:
    """Cancel the tasks that still wait, as for the body of a client that is gone; the event loop closes after this."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_SHUTDOWN_S)
