"""Shows the offsets of connectors to REST and sets them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from connect.api.connector import AlteredOffsets
from connect.cluster.herder.requests import Requests
from connect.cluster.model.connector_values import PartitionOffset
from connect.cluster.offsets.connector_offsets import ConnectorOffsets


class HerderOffsets:
    """It answers what `Offsets` asks. Any worker reads offsets; the leader alone sets them."""

    def __init__(self, offsets: ConnectorOffsets, requests: Requests) -> None:
        self._offsets = offsets
        self._requests = requests

    def read(self, name: str) -> Future[Sequence[PartitionOffset]]:
        """Return the offsets of a connector."""
        return self._offsets.read(name)

    def alter(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[AlteredOffsets]:
        """Set or forget offsets of a stopped connector."""
        self._requests.require_leader()
        return self._offsets.alter(name, offsets)

    def unknown(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[Sequence[PartitionOffset]]:
        """Return the offsets of partitions that do not exist."""
        return self._offsets.unknown(name, offsets)

    def reset(self, name: str) -> Future[bool]:
        """Forget all offsets of a stopped connector."""
        self._requests.require_leader()
        return self._offsets.reset(name)
