"""Lets requests go on one at a time, clients in turn, and lets the event loop accept new ones between them.

The event loop carries on all requests that are ready before it looks for a new one. Each of them computes for a moment,
so that a new request would have to wait for all these moments together.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from typing import Final

LONG_S: Final = 0.005
"""A request that has computed for more seconds than this delays others."""
LOOKS: Final = 16
"""After such a request the event loop looks for new ones this many times, more than a new connection needs."""


class Pacer:
    """Holds the waiting requests. It is owned by the event loop."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._is_going = False

    async def take(self, client: str) -> None:
        """Wait until a request of this client may compute; its turn ends at its next wait."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        if not self._is_going:
            self._is_going = True
            loop.call_soon(self._next)
        await turn

    def _next(self) -> None:
        turn = self._first()
        if turn is None:
            self._is_going = False
            return
        turn.set_result(None)
        # The request is carried on in the next round of the loop, and this coroutine after it.
        asyncio.get_running_loop().call_soon(self._behind, time.monotonic())

    def _behind(self, began_s: float) -> None:
        self._look(0 if time.monotonic() - began_s < LONG_S else LOOKS)

    def _look(self, left: int) -> None:
        if left:
            asyncio.get_running_loop().call_soon(self._look, left - 1)
        else:
            self._next()

    def _first(self) -> asyncio.Future[None] | None:
        """Return the turn of the client that has waited longest for one, and put that client last."""
        while self._waiting:
            client, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns
            if not turn.done():  # A request may have ended meanwhile.
                return turn
        return None
