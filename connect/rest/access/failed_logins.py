"""Slows down clients that guess passwords: an address or IPv6 network may fail `MOST` times in a minute, then waits."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from connect.rest.access.client_network import network_of
from connect.rest.access.login_errors import TooManyLoginsError

MOST: Final = 30
"""A client may fail this many times in a minute."""
MINUTE_S: Final = 60.0
_CLIENTS: Final = 10_000


class FailedLogins:
    """Remembers how often each client has failed. It is owned by the event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without failures. `clock` gives seconds that never go back."""
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def check(self, address: str) -> None:
        """Do nothing if the client may try a password. TooManyLoginsError: too many were wrong."""
        began_s, count = self._counts.get(network_of(address), (0.0, 0))
        wait_s = began_s + MINUTE_S - self._clock()
        if count >= MOST and wait_s > 0:
            raise TooManyLoginsError(wait_s)

    def count(self, address: str) -> None:
        """Count a wrong password of the client."""
        now_s, client = self._clock(), network_of(address)
        began_s, count = self._counts.pop(client, (now_s, 0))
        self._counts[client] = (began_s, count + 1) if now_s - began_s < MINUTE_S else (now_s, 1)
        while len(self._counts) > _CLIENTS:
            self._counts.popitem(last=False)
