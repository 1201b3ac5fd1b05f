"""Deletes a connector together with its offsets.

It stops the connector, waits for the end of its tasks, removes the offsets, and deletes the connector last.

Never deletes a connector whose offsets could not be forgotten: that can be asked for again, the other order could not.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

from connect.api.errors import RetriableError
from connect.cluster.herder.requests import Requests
from connect.cluster.loop.background import LOOK_S, Background
from connect.cluster.loop.herder_parts import HerderParts, connector_config
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import NotLeaderError, RequestError
from connect.cluster.offsets.connector_offsets import ConnectorOffsets
from connect.lib.deadline import Deadline


class ConnectorRemoval:
    """Removes connectors together with their offsets. Any thread may ask."""

    def __init__(
        self, parts: HerderParts, requests: Requests, offsets: ConnectorOffsets, background: Background
    ) -> None:
        self._parts = parts
        self._requests = requests
        self._offsets = offsets
        self._background = background

    def remove(self, name: str) -> Future[None]:
        """Remove a connector and its offsets.

        NotFoundError, NotLeaderError. RequestError: the offsets cannot be removed, and the connector is stopped only.
        """
        return self._background.submit(self._remove, name)

    def _remove(self, name: str) -> None:
        loop, deadline = self._parts.loop, self._background.deadline()
        stopping = loop.submit(f"stopping connector {name} to delete it", partial(self._stop, name))
        stopping.result(deadline.remaining_s)
        self._background.await_stopped(name, deadline)
        try:
            self._reset(name, deadline)
        except NotLeaderError:
            raise
        except RequestError as error:
            text = f"Connector {name} was stopped but not deleted, as its offsets could not be reset: {error.message}"
            raise type(error)(text) from error
        deleting = loop.submit(f"deleting connector {name}", partial(self._requests.delete, name))
        deleting.result(deadline.remaining_s)

    def _stop(self, name: str) -> None:
        self._requests.require_leader()
        snapshot = self._parts.configs.snapshot
        connector_config(snapshot, name)
        if snapshot.target(name) is not TargetState.STOPPED or snapshot.tasks.get(name):
            self._requests.set_target(name, TargetState.STOPPED)

    def _reset(self, name: str, deadline: Deadline) -> None:
        while True:
            try:
                self._offsets.reset(name).result(deadline.remaining_s)
            except RequestError as error:
                has_members = isinstance(error.__cause__, RetriableError)
                if not has_members or not deadline.wait(LOOK_S):
                    raise
            else:
                return
