"""Opens the sockets of the `listeners` and `admin.listeners` settings, and finds the address other workers use.

The sockets are bound before anything is served, as the worker's id has its port, which is known only then.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from connect.rest.server.tls import ADMIN_LISTENERS, LISTENERS, server_context
from connect.runtime.host.listen_errors import cannot_listen
from connect.runtime.settings.worker_config import WorkerConfig

BACKLOG = 1024
"""This many connections may wait to be accepted; a client that finds no room tries again after a second."""
WILDCARDS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not bound
_ADMIN = "admin.listeners"


@dataclass(frozen=True, slots=True)
class Listener:
    """Holds a bound socket that is not served yet. `tls` is None for plain http."""

    bound: socket.socket
    host: str
    tls: ssl.SSLContext | None

    @property
    def scheme(self) -> str:
        """Return `http` or `https`."""
        return "http" if self.tls is None else "https"

    @property
    def port(self) -> int:
        """Return the port that the socket is bound to."""
        return int(self.bound.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Bound:
    """Holds all listeners of a worker.

    Other workers reach it at `url`. `admin` is None if the `main` listeners also serve admin paths.
    """

    main: Sequence[Listener]
    admin: Sequence[Listener] | None
    url: str

    @property
    def worker_id(self) -> str:
        """Return `host:port`, as statuses name this worker."""
        return urlsplit(self.url).netloc

    @property
    def ports(self) -> Sequence[int]:
        """Return the port of each main listener."""
        return [listener.port for listener in self.main]

    def close(self) -> None:
        """Close the sockets of a worker that has not begun to serve them."""
        for listener in (*self.main, *(self.admin or ())):
            listener.bound.close()


def bind(worker: WorkerConfig) -> Bound:
    """Bind every listener; port 0 takes a free one. ConfigError: a listener cannot be used."""
    bound: list[Listener] = []
    try:
        main = _bind_all(worker, worker.listeners, "listeners", LISTENERS, bound)
        admin = None
        if _ADMIN in worker.originals:
            admin = _bind_all(worker, worker.admin_listeners, _ADMIN, ADMIN_LISTENERS, bound)
        return Bound(main, admin, _advertised(worker, main))
    except BaseException:
        for listener in bound:
            listener.bound.close()
        raise


def _bind_all(
    worker: WorkerConfig, addresses: Sequence[str], key: str, tls_prefix: str, bound: list[Listener]
) -> list[Listener]:
    tls: ssl.SSLContext | None = None
    found = []
    for address in addresses:
        url = urlsplit(address)
        if url.scheme.lower() == "https" and tls is None:
            tls = server_context(worker.originals, tls_prefix)
        listener = Listener(_socket(address, key), url.hostname or "", tls if url.scheme.lower() == "https" else None)
        bound.append(listener)
        found.append(listener)
    return found


def _socket(address: str, key: str) -> socket.socket:
    url = urlsplit(address)
    port = 8083 if url.port is None else url.port
    host = url.hostname or ""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise cannot_listen(error, f"Cannot listen on {address}", host, port, key) from error
    return bound


def _advertised(worker: WorkerConfig, main: Sequence[Listener]) -> str:
    """Return the URL for other workers: by `rest.advertised.listener`, or else http if there is such a listener."""
    schemes = [listener.scheme for listener in main]
    scheme = (worker.rest_advertised_listener or ("http" if "http" in schemes else schemes[0])).lower()
    listener = next((known for known in main if known.scheme == scheme), main[0])
    host = worker.rest_advertised_host_name or listener.host
    if host in WILDCARDS:
        host = own_address()
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{worker.rest_advertised_port or listener.port}"


def own_address() -> str:
    """Return the address of this host's name; the loopback's when the name cannot be resolved."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
