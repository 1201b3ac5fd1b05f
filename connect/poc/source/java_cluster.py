"""Runs a source in a Java Connect cluster, over its REST API and the Kafka that it writes to.

The connectors and topics that are made there have unique names, and are removed in the end. If an evaluation is killed,
the next one on the same cluster removes what it has left.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from connect.api.errors import ConnectError
from connect.client.rest import ConnectClient
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.lib.deadline import Deadline
from connect.poc.sandbox.connector_runs import remove, stop
from connect.poc.sandbox.left_behind import left_targets, note_target

LIMIT_S: Final = 60.0


class JavaCluster:
    """Makes a Java cluster usable as a `SourceCluster`. It is owned by the thread of the evaluation."""

    def __init__(self, rest: ConnectClient, worker: Mapping[str, str]) -> None:
        """Take a worker's properties as `worker`, which say how to reach the cluster's Kafka."""
        self.id = f"poc-{secrets.token_hex(4)}"
        self.rest = rest
        self.admin = TopicAdmin(admin_settings(worker, {}, f"{self.id}-admin").properties)
        self.reading = {
            **consumer_settings(worker, {}, client_id=self.id, group_id=self.id).properties,
            "isolation.level": "read_committed",
        }
        self.reading.pop("consumer.path", None)
        self._place = {"rest": rest.url}
        self._names = itertools.count(1)

    def __enter__(self) -> Self:
        for left in left_targets(self._place):
            self._remove_all(left.name)
            left.file.unlink(missing_ok=True)
        self._noted = note_target(self.id, self._place)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove_all(self.id)
        self._noted.unlink(missing_ok=True)

    def new_name(self, label: str) -> str:
        """Return a name for a connector that no earlier run had."""
        return f"{self.id}-{label}-{next(self._names)}"

    def remove(self, name: str) -> None:
        """Delete a connector with its offsets. It is no error if there is none."""
        # Offsets can be deleted once the connector has stopped; Kafka Connect before 3.6 cannot delete them.
        with suppress(ConnectError):
            stop(self.rest, name)
            self.rest.reset_offsets(name)
        remove(self.rest, name)

    def _remove_all(self, prefix: str) -> None:
        for name in [name for name in self.rest.connector_names() if name.startswith(f"{prefix}-")]:
            self.remove(name)
        deadline = Deadline.after(LIMIT_S)
        topics = [topic for topic in self.admin.topics(deadline) if topic.startswith(f"{prefix}-")]
        self.admin.delete(topics, deadline)
