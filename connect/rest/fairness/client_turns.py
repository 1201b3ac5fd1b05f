"""Lets one at a time do what takes long, clients in turn: who has asked for much waits for its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class ClientTurns:
    """Holds who waits. Owned by the event loop."""

    def __init__(self) -> None:
        self._all = asyncio.Lock()
        self._clients: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for the turn of this client, which has at most one among those that wait for the others' turns."""
        async with self._clients.setdefault(client, asyncio.Lock()), self._all:
            yield
