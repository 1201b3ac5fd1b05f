"""Tells which addresses count as one client."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_network


def network_of(address: str) -> str:
    """Return an IPv4 address, or the 64-bit network of an IPv6 address: a client there may use all its addresses."""
    if ":" in address:
        with suppress(ValueError):
            return str(ip_network(f"{address.partition('%')[0]}/64", strict=False))
    return address
