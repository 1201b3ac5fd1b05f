"""Asks if something listens at the address to which the leader posts alerts. Nothing is posted."""

from __future__ import annotations

import socket
from typing import Final
from urllib.parse import urlsplit

from connect.lib.http_client import environment_proxy
from connect.runtime.settings.worker_config import WorkerConfig

_CONNECT_S: Final = 2.0
_PORTS: Final = {"http": 80, "https": 443}


def receiver_trouble(worker: WorkerConfig) -> str:
    """Return why no connection to the receiver of alerts can be made; empty if one can, or if there is none.

    The text holds no more of the address than host and port, as its path is a secret.
    """
    given = worker.alerts_webhook_url
    url = "" if given is None else given.get_secret_value()
    if not url or environment_proxy(url) is not None:  # a proxy knows other hosts than this machine
        return ""
    place = urlsplit(url)
    host, port = place.hostname or "", place.port or _PORTS[place.scheme]
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except OSError as error:
        return f"Nobody answers at {host}:{port}: {error.strerror or error}."
    return ""
