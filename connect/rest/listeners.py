"""Sockets of the `listeners` setting, and the address other workers use.

Bound before anything is served: the worker's id is its advertised host and port, known only with the sockets bound.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from connect.api.errors import ConfigError
from connect.runtime.worker_config import WorkerConfig

_BACKLOG = 128
_WILDCARDS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not bound


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound sockets, not yet served. `url` is where other workers reach this one."""

    sockets: Sequence[socket.socket]
    url: str

    @property
    def worker_id(self) -> str:
        """`host:port`, as statuses name this worker."""
        return urlsplit(self.url).netloc

    @property
    def ports(self) -> Sequence[int]:
        """The port of each listener."""
        return [int(bound.getsockname()[1]) for bound in self.sockets]

    def close(self) -> None:
        """Release the sockets; for a worker that never came to serve."""
        for bound in self.sockets:
            bound.close()


def bind(worker: WorkerConfig) -> Bound:
    """Bind every listener; port 0 takes a free one. ConfigError: a listener cannot be used."""
    sockets: list[socket.socket] = []
    try:
        sockets.extend(_bound(listener) for listener in worker.listeners)
        return Bound(sockets, _advertised(worker, int(sockets[0].getsockname()[1])))
    except BaseException:
        for bound in sockets:
            bound.close()
        raise


def _bound(listener: str) -> socket.socket:
    url = urlsplit(listener)
    try:
        port = 8083 if url.port is None else url.port
    except ValueError as error:
        raise ConfigError(f"Listener {listener}: {error}.", key="listeners") from error
    if url.scheme.lower() != "http" or not listener.partition("://")[2]:
        raise ConfigError(
            f"Listener {listener!r} is not of the form http://host:port.",
            key="listeners",
            fix="Use http, and a proxy for TLS.",
        )
    host = url.hostname or ""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"Cannot listen on {listener}: {error.strerror}.",
            key="listeners",
            fix="Free the port, or name another; port 0 takes a free one.",
        ) from error
    return bound


def _advertised(worker: WorkerConfig, port: int) -> str:
    listener = urlsplit(worker.listeners[0])
    scheme = worker.rest_advertised_listener or listener.scheme.lower()
    host = worker.rest_advertised_host_name or listener.hostname or ""
    if host in _WILDCARDS:
        host = _own_address()
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{worker.rest_advertised_port or port}"


def _own_address() -> str:
    """The address of this host's name; the loopback's when the name cannot be resolved."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
