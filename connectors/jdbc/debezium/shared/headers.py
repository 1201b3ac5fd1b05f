"""Makes the headers of Debezium's events: they name connector and task, and the second key of a row whose key was
changed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connect.api import schema as s
from connect.api.records import Header
from connectors.jdbc.log.shared.envelope import OtherKey

_CONTEXT: Final = "__debezium.context."
_NEW_KEY, _OLD_KEY = "__debezium.newkey", "__debezium.oldkey"


class EventHeaders:
    """Makes the headers of one run of one task."""

    def __init__(self, connector: str, prefix: str, run_id: str, *, extended: bool) -> None:
        """Take what the headers name. `connector` is the connector's name. With `extended`, headers name connector and
        task.
        """
        named = {
            "connectorLogicalName": prefix, "taskId": "0", "connectorName": connector, "runId": run_id,
        }  # fmt: skip
        self._context = (
            tuple(Header(_CONTEXT + name, value, s.STRING) for name, value in named.items()) if extended else ()
        )

    def __call__(self, size: int, moves: Mapping[int, OtherKey]) -> Sequence[Sequence[Header]]:
        """Return the headers of `size` events. `moves` holds the other key of events whose row changed its key."""
        headers: list[Sequence[Header]] = [self._context] * size
        for event, moved in moves.items():
            name = _OLD_KEY if moved.is_old else _NEW_KEY
            headers[event] = (Header(name, moved.key, moved.schema), *self._context)
        return headers
