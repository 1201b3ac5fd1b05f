"""Tells whether another agent has taken an agent's name: two of one name would shut each other out for ever.

Each run notes its process with the agent's offsets. A run that finds the note of a process that began after its own is
the one that has to end.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import uuid4

from connect.api.errors import ConfigError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that runs, or ran, an agent: where, beside which node, and since when (epoch milliseconds)."""

    token: str
    host: str
    process: int
    node: str
    since_ms: int

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Owner | None:
        """Return the owner that is stored."""
        if offset is None:
            return None
        return cls(
            str(offset["token"]), str(offset["host"]), int(offset["process"]), str(offset["node"]),
            int(offset["since_ms"]),
        )  # fmt: skip

    @property
    def offset(self) -> Mapping[str, object]:
        """Return the source offset that stores the owner."""
        return {"token": self.token, "host": self.host, "process": self.process, "node": self.node,
                "since_ms": self.since_ms}  # fmt: skip

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(timespec="seconds")
        return f"host {self.host} (process {self.process}), beside node {self.node}, since {since}"


_before: dict[str, str | None] = {}
"""The token that was stored when this process first ran an agent of a name."""


@cache
def _token_of(process: int) -> tuple[str, int]:
    """Return a token for this process, and when it was made: a process that was forked is another one."""
    del process
    return uuid4().hex, time.time_ns() // 1_000_000


def take_name(name: str, node: str, stored: Owner | None) -> Owner:
    """Return this process as the owner of the name, to be stored. ConfigError: another process has taken it since."""
    token, since_ms = _token_of(os.getpid())
    own = Owner(token, socket.gethostname(), os.getpid(), node, since_ms)
    before = _before.setdefault(f"{token} {name}", None if stored is None else stored.token)
    if stored is None or stored.token == token:
        return own
    if stored.token != before:
        raise ConfigError(
            f"Another agent has taken the name {name}: {stored}. This one ends: two of a name shut each other out.",
            key="name",
            fix="Give each agent a name of its own, and start this one again.",
        )
    if stored.node != node:
        log.warning(
            "An agent named %s ran elsewhere before: %s. If it still runs, give one of them another name: two of a "
            "name shut each other out.", name, stored,
        )  # fmt: skip
    return own
