"""Tells which addresses count as one client."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_network


def network_of(address: str) -> str:
    """Return an address, of IPv6 its network of 64 bits: whoever has one address there has all of them."""
    if ":" in address:
        with suppress(ValueError):
            return str(ip_network(f"{address.partition('%')[0]}/64", strict=False))
    return address
