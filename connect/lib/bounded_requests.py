"""Limits the answers of sessions of the library requests, as `bounded_http` does for urllib3."""

from __future__ import annotations

from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3 import PoolManager

from connect.lib.bounded_http import Limits, bound


class BoundedAdapter(HTTPAdapter):
    """Sends the requests of a session, and limits their answers. A request without a time limit gets that of the
    limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        super().__init__()

    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        """Open the pool of connections."""
        super().init_poolmanager(*args, **named)
        bound(self.poolmanager, self._limits)

    def proxy_manager_for(self, *args: Any, **named: Any) -> PoolManager:
        """Return the pool of connections over a proxy."""
        manager: PoolManager = super().proxy_manager_for(*args, **named)
        bound(manager, self._limits)
        return manager

    def add_headers(self, request: PreparedRequest, **named: Any) -> None:
        """Ask for answers that can be unpacked within the limits."""
        super().add_headers(request, **named)
        request.headers["Accept-Encoding"] = "gzip"

    def send(self, request: PreparedRequest, *args: Any, **named: Any) -> Response:
        """Send a request and return its whole answer. ConnectionError: the answer exceeds the limits."""
        named["timeout"] = named.get("timeout") or self._limits.whole_s
        return super().send(request, *args, **named)
