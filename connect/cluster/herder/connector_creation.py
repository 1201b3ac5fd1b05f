"""Creates a connector with initial offsets (KIP-995).

It removes the old offsets of the name first, then sets the given ones, and creates the connector last.

Never creates a connector whose offsets could not be set, and touches no offsets for one that cannot be created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from connect.cluster.herder.requests import Requests
from connect.cluster.loop.background import Background
from connect.cluster.loop.herder_parts import HerderParts
from connect.cluster.model.connector_values import PartitionOffset, Saved, TargetState
from connect.cluster.model.request_errors import ConflictError
from connect.cluster.offsets.connector_offsets import ConnectorOffsets


class ConnectorCreation:
    """Creates connectors that begin at given offsets. Any thread may ask."""

    def __init__(
        self, parts: HerderParts, requests: Requests, offsets: ConnectorOffsets, background: Background
    ) -> None:
        self._parts = parts
        self._requests = requests
        self._offsets = offsets
        self._background = background

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial: TargetState | None,
        offsets: Sequence[PartitionOffset],
        who: str,
    ) -> Future[Saved]:
        """Create a connector with offsets.

        RequestError: the name is taken, or these offsets cannot be set; nothing is created then.
        """
        return self._background.submit(self._create, name, config, initial, offsets, who)

    def _create(
        self,
        name: str,
        config: Mapping[str, str],
        initial: TargetState | None,
        offsets: Sequence[PartitionOffset],
        who: str,
    ) -> Saved:
        loop, deadline = self._parts.loop, self._background.deadline()
        reserving = loop.submit(f"reserving the name {name}", partial(self._requests.reserve, name))
        reserving.result(deadline.remaining_s)
        try:
            # Tasks of a connector of this name that was deleted a moment ago would store their offsets over these.
            if not self._background.await_stopped(name, deadline):
                raise ConflictError(
                    f"Connector {name} was not created: tasks of a deleted connector of this name "
                    "haven't stopped completely yet. Send the request again."
                )
            whole = self._offsets.replace(name, config, offsets).result(deadline.remaining_s)
            step = partial(self._requests.create, name, config, initial, who, reserved=True)
            saved = loop.submit(f"creating connector {name}", step).result(deadline.remaining_s)
        finally:
            loop.submit(f"freeing the name {name}", partial(self._requests.free, name))
        return replace(saved, offsets_whole=whole)
