"""Asks Kafka for the offsets of connectors, and remembers the answers, as pages are drawn every two seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from aiohttp import web

from connect.api.errors import ConnectError
from connect.cluster.model.connector_values import PartitionOffset
from connect.cluster.model.operations import Offsets
from connect.cluster.model.request_errors import RequestError
from connect.rest.errors.http_error import status_of
from connect.rest.server.waiting import WaitTimeoutError, within

WAIT_S: Final = 1.0
_FRESH_S: Final = 15.0
_MOST: Final = 1000


class _Seen(NamedTuple):
    at_s: float
    offsets: Sequence[PartitionOffset] | None


class OffsetsSeen:
    """Remembers the offsets of connectors for a few seconds. It is owned by the event loop."""

    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets
        self._seen: dict[str, _Seen] = {}

    async def of(self, name: str) -> Sequence[PartitionOffset] | None:
        """Return a connector's offsets; None if Kafka does not tell them in time. NotFoundError: there is no such
        connector.
        """
        known = self._seen.get(name)
        if known is None or time.monotonic() - known.at_s > _FRESH_S:
            if len(self._seen) >= _MOST:
                self._seen.clear()
            known = self._seen[name] = _Seen(time.monotonic(), await self._asked(name))
        return known.offsets

    async def _asked(self, name: str) -> Sequence[PartitionOffset] | None:
        try:
            return await within(self._offsets.read(name), WAIT_S)
        except (WaitTimeoutError, ConnectError):
            return None
        except RequestError as error:
            if status_of(error) == 404:
                raise
            return None


OFFSETS_SEEN: Final = web.AppKey("offsets_seen", OffsetsSeen)
