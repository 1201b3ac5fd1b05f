"""Carries out the changes that a cluster needs, one connector at a time."""

from __future__ import annotations

from typing import Final

from connect.client.changes import Change
from connect.client.rest import ConnectClient

_TO_STATE: Final = {"RUNNING": "resume", "PAUSED": "pause", "STOPPED": "stop"}


def carry_out(client: ConnectClient, change: Change) -> None:
    """Make one change. RefusedError: the cluster does not accept it. ConnectError: the cluster does not answer."""
    if change.verb == "delete":
        client.delete(change.name)
    elif change.manifest is not None and change.verb == "create":
        client.create(change.name, change.manifest.config, change.state)
    elif change.manifest is not None and change.verb == "update":
        if change.keys or change.hidden:
            client.save(change.name, change.manifest.config)
        if change.state:
            client.change_state(change.name, _TO_STATE[change.state])
