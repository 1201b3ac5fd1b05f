"""Checks the addresses of OpenID Connect issuers."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def check_issuer_url(value: str) -> str:
    """Return the address of an issuer or of its keys. Raise ValueError if others could forge answers on the way."""
    url = urlsplit(value)
    if not url.hostname or url.scheme not in {"http", "https"} or url.username or url.query or url.fragment:
        raise ValueError("it is not of the form https://host/path")
    if url.scheme == "http" and not _is_this_machine(url.hostname):
        raise ValueError("it is not https, so that anybody on the way could give keys of their own")
    return value


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
