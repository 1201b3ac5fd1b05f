"""Reads the servers of a JDBC URL of MySQL, MariaDB or PostgreSQL, in each form that their drivers take. Pure.

Source: MySQL Connector/J 9 ("Connection URL Syntax", "Multi-Host Connections"), MariaDB Connector/J 3 ("High
availability"), pgJDBC 42 ("Connecting to the Database").
"""

from __future__ import annotations

import re
from typing import NamedTuple

ONE_BY_ONE = frozenset({"replication", "sequential", "failover", "loadbalance", "load-balance-read", "aurora"})
"""These words in a URL say what MySQL's and MariaDB's drivers do with several servers. Here each server is tried in
turn.
"""
_PLAIN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:@\[\]()=,]*)(?::(\d+))?")
_MEMBER = re.compile(r"\(\s*([\w-]+)\s*=\s*([^()]*?)\s*\)")
_REPLICAS = frozenset({"slave", "replica"})


class Address(NamedTuple):
    """Holds the host and port of one server."""

    host: str
    port: int


def addresses(text: str, port: int, example: str) -> list[Address]:
    """Return the servers in a URL's host part, those that take writes first. Raise ValueError for an unknown form."""
    if text.startswith("[") and text.endswith("]") and "(" in text:
        text = text[1:-1]
    found = [_address(part.strip(), port, example) for part in _parts(text)]
    # Replicas come last: they have all rows, too, but late.
    return [at for at, is_replica in sorted(found, key=lambda one: one[1])] or [Address("localhost", port)]


def _parts(text: str) -> list[str]:
    # Commas within brackets are between members of one server.
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text else []


def _address(text: str, port: int, example: str) -> tuple[Address, bool]:
    if "(" in text:
        inner = text.removeprefix("address=")
        members = dict(_MEMBER.findall(inner)) or {}
        if "," in inner:
            members = dict(part.split("=", 1) for part in inner.strip("()").split(",") if "=" in part)
        given = {name.strip().lower(): value.strip() for name, value in members.items()}
        if "host" not in given or not given.get("port", "1").isdigit():
            raise ValueError(f"A server in brackets must have a host and a port, as {example}.")
        at = Address(given["host"].strip("[]"), int(given.get("port", port)))
        return at, given.get("type", "").lower() in _REPLICAS
    match = _PLAIN.fullmatch(text)
    if match is None:
        raise ValueError(f"The host part must be host:port, as {example}; user and password go in keys of their own.")
    return Address(match[1].strip("[]") or "localhost", int(match[2] or port)), False
