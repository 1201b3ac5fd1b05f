"""Asks the other workers for figures, as each worker knows only those of its own tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout, web

from connect.rest.access.role import Role
from connect.rest.access.worker_signatures import Signable
from connect.rest.errors.http_error import HttpError
from connect.rest.server.answers import json_answer
from connect.rest.server.author import is_signed, signing
from connect.rest.server.context import RestContext, context_of
from connect.rest.server.routing import Route
from connect.runtime.settings.worker_config import WorkerConfig

TIMEOUT_S: Final = 1.0
_PATH: Final = "/ui/figures"
Figures = Mapping[str, Mapping[str, float]]
"""Maps each task, as `name-0`, to its figures."""


class Peers:
    """Asks all other workers of the group at once. It is owned by the event loop."""

    def __init__(self, context: RestContext, client: ClientSession, scheme: str) -> None:
        """Take the `scheme` by which workers reach each other, `http` or `https`."""
        self._context = context
        self._client = client
        self._scheme = scheme

    def names(self) -> list[str]:
        """Return the `host:port` of every other worker."""
        rebalances = self._context.operations.history.rebalances()
        workers = rebalances[-1].workers if rebalances else ()
        return sorted(set(workers) - {self._context.worker_id})

    async def figures(self) -> tuple[Figures, Mapping[str, str]]:
        """Return the figures of the workers that answer in time, and for each other worker why it did not."""
        names = self.names()
        answers = await asyncio.gather(*(self._ask(name) for name in names))
        found: dict[str, Mapping[str, float]] = {}
        silent: dict[str, str] = {}
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, str):
                silent[name] = answer
            else:
                found |= answer
        return found, silent

    async def _ask(self, worker: str) -> Figures | str:
        key = self._context.operations.worker.session_key
        sign = signing(lambda: Signable("GET", _PATH, "", worker).headers(key))
        try:
            async with self._client.get(
                f"{self._scheme}://{worker}{_PATH}",
                middlewares=(sign,),
                timeout=ClientTimeout(total=TIMEOUT_S),
                allow_redirects=False,
                server_hostname=self._context.worker.rest_advertised_certificate_name,
            ) as response:
                if response.status != 200:
                    return f"it answers HTTP {response.status}"
                found: Figures = orjson.loads(await response.read())
                return found
        except TimeoutError:
            return f"it did not answer in {TIMEOUT_S:.0f} s"
        except (ClientError, ValueError) as error:
            return str(error) or type(error).__name__


async def own_figures(request: web.Request) -> web.Response:
    """Tell another worker of the cluster what this one's tasks count. HttpError 403: the asker is no worker of the
    cluster.
    """
    if not is_signed(request):
        raise HttpError(403, "Workers of this cluster alone ask for this; GET /metrics has the same figures.")
    return json_answer(await asyncio.to_thread(context_of(request).operations.tasks.figures))


def scheme(worker: WorkerConfig) -> str:
    """Return the scheme by which workers of the group reach each other; it is that of this worker."""
    schemes = [urlsplit(address).scheme.lower() for address in worker.listeners]
    return (worker.rest_advertised_listener or ("http" if "http" in schemes else "https")).lower()


ROUTES = (Route("GET", _PATH, own_figures, role=Role.ANYONE, early=True),)
