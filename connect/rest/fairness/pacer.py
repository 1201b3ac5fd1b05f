"""Lets requests go on one at a time, clients in turn, and the event loop hear of others between them.

Many requests that are there at once are all carried on before the event loop looks for a new one. Each computes for a
moment, so together they would hold up whoever comes next for as long as all their moments take.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from typing import Final

LONG_S: Final = 0.005
"""What has computed for longer holds up others."""
LOOKS: Final = 16
"""How often the event loop looks for what is new after that: more than a new request takes from its connection on."""


class Pacer:
    """Holds who waits. Owned by the event loop."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._is_going = False

    async def take(self, client: str) -> None:
        """Wait until a request of this client may go on, to its next wait."""
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
        # The request is carried on in the next round of the loop, and this behind it.
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
            if not turn.done():  # a request may have ended meanwhile
                return turn
        return None
