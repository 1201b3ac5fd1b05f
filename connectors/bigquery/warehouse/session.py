"""Sends the requests of Google's REST client, only to BigQuery, and with limits on the answers.

The service's answers say where an upload goes on, and Google's client would send rows and token there, to any host.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from google.auth.credentials import Credentials
from google.auth.transport.requests import AuthorizedSession, Request
from requests import Response, Session
from requests.adapters import BaseAdapter

from connect.api.errors import ConfigError
from connect.lib.bounded_http import Limits
from connect.lib.bounded_requests import BoundedAdapter
from connectors.bigquery.warehouse.service_clock import ServiceClock

_ANSWER_BYTES: Final = 64 << 20
_GOOGLE: Final = ".googleapis.com"


class WarehouseSession(AuthorizedSession):
    """Sends requests to `endpoint`, if that is not empty, and to Google's own addresses."""

    def __init__(self, credentials: Credentials, endpoint: str, *, timeout_s: float) -> None:
        limits = Limits(timeout_s, _ANSWER_BYTES)
        asks_for_tokens = _bounded(Session(), limits)
        super().__init__(credentials, auth_request=Request(asks_for_tokens))  # type: ignore[no-untyped-call]  # the library has no types
        self._endpoint = _origin(endpoint)
        _bounded(self, limits)

    def tell(self, clock: ServiceClock) -> None:
        """Let each answer tell a clock the time."""

        def heard(answer: Response, *_: Any, **__: Any) -> None:
            clock.hear(answer.headers.get("Date"))

        self.hooks["response"].append(heard)

    def get_adapter(self, url: str) -> BaseAdapter:
        """Return the adapter that sends requests to an address. Raise ConfigError if the host is not BigQuery's."""
        scheme, host = _origin(url)
        if (scheme, host) != self._endpoint and not (scheme == "https" and host.endswith(_GOOGLE)):
            raise ConfigError(
                f"BigQuery's answer sends the worker's token elsewhere, to {scheme}://{host}, where it does not go.",
                key="bigquery.endpoint",
                fix="Give the address of BigQuery itself, or leave it out.",
            )
        return super().get_adapter(url)


def _bounded(session: Session, limits: Limits) -> Session:
    session.max_redirects = 0
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter(limits))
    return session


def _origin(address: str) -> tuple[str, str]:
    """Return the protocol, and host with port, of an address."""
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()
