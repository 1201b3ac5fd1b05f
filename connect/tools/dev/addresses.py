"""The ports of a development environment: chosen at its first start, kept in its folder, the same ever after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from connect.api.errors import ConnectError
from connect.tools.services.process.ports import accepts_connections, free_ports

Ports = Mapping[str, Mapping[str, int]]
"""Of each service by its name, each of its ports by the port's name."""

USUAL: Final[Ports] = {
    "kafka": {"broker": 9092, "controller": 9093},
    "schema-registry": {"http": 8081},
    "seaweedfs": {"s3.port": 9000},
    "worker": {"rest": 8083},
}
"""Where people look for these services. The other ports of SeaweedFS are nobody's business, and chosen freely."""


def ports_of(folder: Path) -> Ports:
    """The ports noted in the folder; the first time the usual ones, or free ones where those are taken.

    ConnectError: the note cannot be read.
    """
    note = folder / "ports.json"
    if note.exists():
        try:
            return {name: {port: int(n) for port, n in ports.items()} for name, ports in _members(note).items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise ConnectError(
                f"{note} does not hold the ports of this environment: {error}.",
                fix="Remove that file: the ports are chosen anew.",
            ) from error
    chosen = {name: {port: _usual_or_free(n) for port, n in ports.items()} for name, ports in USUAL.items()}
    note.write_text(json.dumps(chosen, indent=1) + "\n")
    return chosen


def _members(note: Path) -> dict[str, dict[str, int]]:
    members = json.loads(note.read_text())
    missing = [f"{name}.{port}" for name, ports in USUAL.items() for port in ports if port not in members.get(name, {})]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing")
    return {name: dict(members[name]) for name in USUAL}


def _usual_or_free(port: int) -> int:
    return free_ports(1)[0] if accepts_connections(port) else port
