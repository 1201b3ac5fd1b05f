"""Creating a connector with initial offsets (KIP-995): the old ones of its name go, the given ones come, then itself.

Never creates a connector whose offsets could not be set, and touches no offsets for one that cannot be created.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Final

from connect.api.deadline import Deadline
from connect.cluster.cluster_parts import Parts
from connect.cluster.connector_offsets import ConnectorOffsets
from connect.cluster.operations import PartitionOffset, Saved, TargetState
from connect.cluster.requests import Requests
from connect.cluster.supervisor import KILL_GRACE_S

TIMEOUT_S: Final = 60.0
LOOK_S: Final = 0.1


class Creation:
    """Any thread may ask. Works on threads of its own, as Kafka and the connector take their time."""

    def __init__(
        self, parts: Parts, requests: Requests, offsets: ConnectorOffsets, has_runs: Callable[[str], bool]
    ) -> None:
        self._parts = parts
        self._requests = requests
        self._offsets = offsets
        self._has_runs = has_runs
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="creation")

    def create(
        self,
        name: str,
        config: Mapping[str, str],
        initial: TargetState | None,
        offsets: Sequence[PartitionOffset],
        who: str,
    ) -> Future[Saved]:
        """RequestError: the name is taken, or these offsets cannot be set; nothing is created then."""
        return self._threads.submit(self._create, name, config, initial, offsets, who)

    def close(self) -> None:
        """Begin nothing more, and wait for nothing more."""
        self._closing.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _create(
        self,
        name: str,
        config: Mapping[str, str],
        initial: TargetState | None,
        offsets: Sequence[PartitionOffset],
        who: str,
    ) -> Saved:
        loop, stop_s = self._parts.loop, self._parts.limits.stop_s + 2 * KILL_GRACE_S
        deadline = Deadline.after(TIMEOUT_S + stop_s, self._closing)
        reserving = loop.submit(f"reserving the name {name}", partial(self._requests.reserve, name))
        reserving.result(deadline.remaining_s)
        try:
            stopped_by = deadline.sooner(stop_s)
            # Tasks of a connector of this name that was deleted a moment ago would store their offsets over these.
            while self._has_runs(name) and stopped_by.wait(LOOK_S):
                pass
            whole = self._offsets.replace(name, config, offsets).result(deadline.remaining_s)
            step = partial(self._requests.create, name, config, initial, who, reserved=True)
            saved = loop.submit(f"creating connector {name}", step).result(deadline.remaining_s)
        finally:
            loop.submit(f"freeing the name {name}", partial(self._requests.free, name))
        return replace(saved, offsets_whole=whole)
