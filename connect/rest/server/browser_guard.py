"""Serves requests of browsers under the worker's own names, and lets only its own pages change something.

A page of any origin may make the browser of its reader send requests to a worker that only the reader can reach. If a
host name of the page leads to the worker (DNS rebinding), it can read the answers, too. Clients that are no browsers
can send any headers, so they are not checked here.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from connect.cluster.model.request_errors import RequestError
from connect.rest.errors.http_error import HttpError, status_of
from connect.rest.server.cors import origin_patterns
from connect.rest.server.errors import error_answer
from connect.rest.server.routing import JSON, Answer
from connect.runtime.settings.worker_config import WorkerConfig

KEY: Final = "rest.allowed.hosts"
_READS: Final = (hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS)
_MARKS: Final = (
    hdrs.ORIGIN, "Sec-Fetch-Site", "Sec-Fetch-Dest", hdrs.REFERER, "Upgrade-Insecure-Requests",
)  # fmt: skip
"""These headers are sent by browsers only.

Without TLS browsers send no Sec-Fetch-*, and no Origin with requests that only read.
"""
_LANGUAGE_OF_PROGRAMS: Final = "*"
"""Node sends this as Accept-Language."""
_FORMS: Final = "/ui/"
"""Forms are sent to paths below this, each with a token that only pages of the worker can read."""
_ORIGIN: Final = re.compile(r"(?!file:)[\w+.-]+://.+", re.ASCII)
_PLAIN_ORIGIN: Final = re.compile(r"[\w+.-]+://[\w.-]{1,100}(:\d+)?", re.ASCII)
"""Such an origin may be written into the worker's file as it is, where it is a pattern."""
_UNFORGEABLE: Final = "X-Requested-With"
"""A form of another page cannot send this header, and a script only after a preflight, which is refused."""


class OwnNames:
    """Knows the host names under which browsers may reach a worker."""

    def __init__(self, worker: WorkerConfig, worker_id: str) -> None:
        """Take the worker's settings and, as `worker_id`, its `host:port`."""
        listeners = {urlsplit(address).hostname for address in (*worker.listeners, *worker.admin_listeners)}
        own = {"localhost", socket.gethostname(), worker.rest_advertised_host_name, _name(worker_id), *listeners}
        self._names = {name.lower().rstrip(".") for name in own if name}
        self._allowed = [entry.strip().lower() for entry in worker.rest_allowed_hosts if entry.strip()]

    def __contains__(self, host: str) -> bool:
        """Return True if a Host header, `name` or `name:port`, has one of these names, or an IP address.

        An IP address is always allowed, as no other page can have it for its name.
        """
        name = _name(host)
        if name in self._names or _is_address(name) or name.endswith(".localhost"):
            return True
        return any(_fits(entry, host.lower(), name) for entry in self._allowed)


def browsers(worker: WorkerConfig, worker_id: str) -> Middleware:
    """Return the middleware that refuses requests of foreign pages. ConfigError: an origin is no valid pattern."""
    names = OwnNames(worker, worker_id)
    origins = origin_patterns(worker)

    @web.middleware
    async def keep_out(request: web.Request, handler: Answer) -> web.StreamResponse:
        try:
            if is_browser(request):
                _check(request, names, origins)
        except RequestError as error:
            return error_answer(status_of(error), error.message)
        return await handler(request)

    return keep_out


def _check(request: web.Request, names: OwnNames, origins: Iterable[re.Pattern[str]]) -> None:
    origin = _origin(request)
    is_listed = origin is not None and any(pattern.fullmatch(origin) for pattern in origins)
    host = request.headers.get(hdrs.HOST, "")
    if not is_listed:
        _check_host(host, names)
    if request.method not in _READS:
        _check_change(request, host, origin, is_listed=is_listed)


def _origin(request: web.Request) -> str | None:
    """Return the origin of the page that sends a request; None if the browser does not tell it.

    Browsers send Origin with each change. If something on the way removes it, the page's address (Referer) remains.
    """
    address = request.headers.get(hdrs.REFERER)
    return request.headers.get(hdrs.ORIGIN, None if address is None else "/".join(address.split("/", 3)[:3]))


def is_browser(request: web.Request) -> bool:
    """Return True if a request has a header that only browsers send."""
    if any(mark in request.headers for mark in _MARKS):
        return True
    language = request.headers.get(hdrs.ACCEPT_LANGUAGE)
    if language is None:
        return False
    return language != _LANGUAGE_OF_PROGRAMS or request.headers.get(hdrs.USER_AGENT, "").startswith("Mozilla/")


def _check_host(host: str, names: OwnNames) -> None:
    if host not in names:
        shown = re.sub(r"[^\w.:\[\]-]", "?", host)[:100]
        raise HttpError(
            403,
            f"This worker is not called {shown} by its own file, so it answers no browser under that name. If it is "
            f"right, write {KEY}={_name(shown)} into the worker's file.",
        )


def _check_change(request: web.Request, host: str, origin: str | None, *, is_listed: bool) -> None:
    if origin is not None and not is_listed and not _is_own(origin, host):
        raise HttpError(403, _of_page(origin, host))
    site = request.headers.get("Sec-Fetch-Site", "none")
    if hdrs.ORIGIN not in request.headers and not is_listed and site not in {"same-origin", "none"}:
        raise HttpError(403, "A page of another site may change nothing here.")
    if request.path.startswith(_FORMS):
        return
    kind = request.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower()
    if request.method == hdrs.METH_POST and kind != JSON and _UNFORGEABLE not in request.headers:
        raise HttpError(403, f"A browser's POST without JSON needs a header that no form sends: {_UNFORGEABLE}.")


def _of_page(origin: str, host: str) -> str:
    """Return what to tell a page of another origin that wants to change something."""
    if _ORIGIN.fullmatch(origin):
        shown = re.sub(r"[^\w.:/\[\]-]", "?", origin)[:100]
        may = f" If it may, write access.control.allow.origin={origin} into the worker's file."
        return f"The page of {shown} may change nothing here.{may if _PLAIN_ORIGIN.fullmatch(origin) else ''}"
    # A page in a sandbox, a file and a data URL of anybody all send Origin: null.
    return (
        "A page whose address the browser does not tell may change nothing here: a file, a frame in a sandbox, or a "
        f"page that a redirect or an extension hides. Open this worker's own page, {host}/ui, instead, or serve the "
        "page from an address of its own and allow that one. Never allow null: null stands for every page of anybody "
        "that has no address."
    )


def _is_own(origin: str, host: str) -> bool:
    """Return True if a page has the address of this worker. The scheme may differ, as a proxy may add TLS."""
    try:
        place = urlsplit(origin)
    except ValueError:  # The origin has a bracket that is not closed.
        return False
    default = {"http": ":80", "https": ":443"}.get(place.scheme, "")
    return place.netloc.lower() != "" and host.lower() in {place.netloc.lower(), f"{place.netloc.lower()}{default}"}


def _name(host: str) -> str:
    """Return the name of a Host header, without its port and in small letters."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _fits(entry: str, host: str, name: str) -> bool:
    if entry == "*" or entry in {host, name}:
        return True
    return entry.startswith("*.") and name.endswith(entry[1:])
