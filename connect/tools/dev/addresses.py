"""Chooses the ports of a development environment at its first start, and keeps them in its folder from then on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from connect.api.errors import ConnectError
from connect.tools.services.process.port_claims import usual_or_free

Ports = Mapping[str, Mapping[str, int]]
"""Maps each service's name to its ports, by the port's name."""

USUAL: Final[Ports] = {
    "kafka": {"broker": 9092, "controller": 9093},
    "schema-registry": {"http": 8081},
    "seaweedfs": {"s3.port": 9000},
    "worker": {"rest": 8083},
}
"""Holds the ports on which people expect these services. The other ports of SeaweedFS are chosen freely."""


def ports_of(folder: Path, further: Ports, claim: Callable[[int], bool]) -> Ports:
    """Return the ports that are noted in the folder. Others are the usual ones, or free ones if these are taken.

    `further` has the usual ports of services that are there on request. `claim` takes a port, and returns False if
    another environment has it. ConnectError: the note cannot be read.
    """
    note = folder / "ports.json"
    try:
        noted = _noted(note, {**USUAL, **further}) if note.exists() else {}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConnectError(
            f"{note} does not hold the ports of this environment: {error}.",
            fix="Remove that file: the ports are chosen anew.",
        ) from error
    for ports in noted.values():
        for port in ports.values():
            claim(port)  # if another environment has the port too, the service finds it taken and says so
    new = {
        name: {port: usual_or_free(n, claim) for port, n in ports.items()}
        for name, ports in {**USUAL, **further}.items()
        if name not in noted
    }
    if new:
        note.write_text(json.dumps({**noted, **new}, indent=1) + "\n")
    return {**noted, **new}


def _noted(note: Path, wanted: Ports) -> dict[str, dict[str, int]]:
    noted = {name: {port: int(n) for port, n in ports.items()} for name, ports in json.loads(note.read_text()).items()}
    missing = [name for name in USUAL if name not in noted]
    missing += [
        f"{name}.{port}"
        for name, ports in wanted.items()
        for port in ports
        if name in noted and port not in noted[name]
    ]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing")
    return noted
