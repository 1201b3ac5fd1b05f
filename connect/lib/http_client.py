"""Sends an HTTP request once and returns its whole answer, within limits of time and size.

A redirect is an answer like others, unless the caller wants redirects followed. No error's text has the address, as a
token may be a part of it.
"""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from connect.lib.bounded_http import Limits, bound

LIMIT_BYTES: Final = 64 << 20
_CONNECT_S: Final = 10.0
_SAID_CHARS: Final = 50
_ORIGIN: Final = re.compile(r"^<?\w+\(host=[^)]*\)(?: at 0x[0-9a-f]+)?>?: | \(_ssl\.c:\d+\)$")
"""Matches what urllib3 puts before an error's reason, the connection's repr, and what OpenSSL puts behind it, the place
in Python's source.
"""


class NoAnswerError(Exception):
    """Says that no answer came within the limits. The text says why; `kind` is the type's name of the error alone."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds what a server answered, whatever its status. Names of headers are found in any case."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def reason(self) -> str:
        """Return the standard phrase of the status; empty for an unknown status."""
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return ""


class HttpClient:
    """Keeps connections to the servers that it asks. Any thread may call it."""

    def __init__(
        self,
        *,
        timeout_s: float,
        connect_timeout_s: float | None = None,
        tls: ssl.SSLContext | None = None,
        checks_host: bool = True,
        proxy: str | None = None,
        connections: int = 1,
        limit_bytes: int = LIMIT_BYTES,
        whole_s: float | None = None,
        head_only: bool = False,
    ) -> None:
        """Take the limits. `connections` are kept open to each server. With `head_only` bodies of answers are not read.

        `timeout_s` limits each wait for the server, and the time of the whole answer unless `whole_s` is given.
        `limit_bytes` limits an answer's body. Without `tls` the authorities of the system are trusted.
        """
        connect_s = min(timeout_s, _CONNECT_S) if connect_timeout_s is None else connect_timeout_s
        settings: dict[str, Any] = {
            "timeout": urllib3.Timeout(connect=connect_s, read=timeout_s),
            "ssl_context": tls,
            "assert_hostname": None if checks_host else False,
            "maxsize": connections,
        }
        self._pool = urllib3.ProxyManager(proxy, **settings) if proxy else urllib3.PoolManager(**settings)
        bound(self._pool, Limits(timeout_s if whole_s is None else whole_s, limit_bytes, head_only))

    def __enter__(self) -> Self:
        """Return this client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        redirects: int = 0,
    ) -> Answer:
        """Return the answer to one request. NoAnswerError: none came within the limits.

        At most `redirects` redirects are followed; credentials are not sent to another host.
        """
        follow = urllib3.Retry(total=redirects, connect=0, read=0, other=0, status=0) if redirects else False
        try:
            answer = self._pool.request(method, url, headers=headers, body=body, retries=follow, redirect=redirects > 0)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            inner = getattr(error, "reason", None) or error
            raise NoAnswerError(type(inner).__name__, _words(inner)) from None
        return Answer(answer.status, answer.headers, answer.data)


def environment_proxy(url: str) -> str | None:
    """Return the proxy that `http_proxy`, `https_proxy` and `no_proxy` set for an address; None if the address needs
    none.
    """
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _words(error: BaseException) -> str:
    """Return an error's text for people: the system's words where it has some, without reprs of objects."""
    system, last = error.__cause__, error.args[-1] if error.args else None
    if isinstance(error, urllib3.exceptions.NewConnectionError) and isinstance(system, OSError) and system.strerror:
        return system.strerror
    if isinstance(error, http.client.IncompleteRead):
        return f"the answer ended {error.expected or 'some'} bytes too early"
    if isinstance(error, http.client.BadStatusLine) and not isinstance(error, ConnectionError):
        return f"what answers does not speak HTTP, it says {str(error).strip()[:_SAID_CHARS]!r}"
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "what answers does not speak TLS, as http:// addresses do not"
    if isinstance(last, BaseException):
        return f"{str(error.args[0]).rstrip('.')}: {_words(last)}" if len(error.args) > 1 else _words(last)
    return _ORIGIN.sub("", str(error))
