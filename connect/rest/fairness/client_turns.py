"""Lets long work be done one piece at a time, clients in turn, so that a client with much work delays no other one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class ClientTurns:
    """Holds the waiting clients. It is owned by the event loop."""

    def __init__(self) -> None:
        self._all = asyncio.Lock()
        self._clients: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn of this client. At most one of its requests at a time waits beside those of other clients."""
        async with self._clients.setdefault(client, asyncio.Lock()), self._all:
            yield
