"""Opens the sockets of the `listeners` and `admin.listeners` settings, and finds the address other workers use.

The sockets are bound before anything is served, as the worker's id has its port, which is known only then.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from connect.rest.tls.contexts import ADMIN_LISTENERS, LISTENERS, server_context
from connect.rest.tls.renewal import Renewal
from connect.runtime.host.listen_errors import cannot_listen
from connect.runtime.settings.worker_config import WorkerConfig

BACKLOG = 1024
"""This many connections may wait to be accepted; a client that finds no room tries again after a second."""
WILDCARDS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not bound
_ADMIN = "admin.listeners"
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Listener:
    """Holds a bound socket that is not served yet. `tls` and `renewal` are None for plain http."""

    bound: socket.socket
    host: str
    tls: ssl.SSLContext | None
    renewal: Renewal | None = None
    """This is one for all https listeners that share a context."""

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
    renewal: Renewal | None = None
    found = []
    for address in addresses:
        url = urlsplit(address)
        is_https = url.scheme.lower() == "https"
        if is_https and tls is None:
            tls = server_context(worker.originals, tls_prefix)
            renewal = Renewal(worker.originals, tls, tls_prefix)
        secured = (tls, renewal) if is_https else (None, None)
        listener = Listener(_socket(address, key), url.hostname or "", *secured)
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
        host = own_address(worker)
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{worker.rest_advertised_port or listener.port}"


def own_address(worker: WorkerConfig) -> str:
    """Return the address by which others reach this machine: that of its name, or the one by which it reaches Kafka.

    Installers of Linux give a machine's name an address of the loopback, which all machines have. It is an address for
    other workers only if the brokers are on the loopback, too.
    """
    try:
        named = socket.gethostbyname(socket.gethostname())
    except OSError:
        named = _LOOPBACK
    if not ipaddress.ip_address(named).is_loopback:
        return named
    for server in worker.bootstrap_servers:
        used = _address_towards(server)
        if used is not None:
            return named if ipaddress.ip_address(used).is_loopback else used
    return socket.gethostname() or named


def _address_towards(server: str) -> str | None:
    """Return this machine's address on the way to a broker, to which nothing is sent; None if there is no way."""
    try:
        broker = urlsplit(f"//{server}")
        found = socket.getaddrinfo(broker.hostname, broker.port, type=socket.SOCK_DGRAM)
    except (OSError, ValueError):  # A name that nobody knows, or no address at all, is told where Kafka is asked.
        return None
    for family, kind, protocol, _, address in found:
        with suppress(OSError), socket.socket(family, kind, protocol) as towards:
            towards.connect(address)
            return str(towards.getsockname()[0]).partition("%")[0]
    return None
