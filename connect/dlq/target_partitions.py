"""Tells whether the partition that a replayed record goes to is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.api.errors import ConnectError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

_FIX: Final = "Give --to TOPIC, or make the topic with enough partitions and replay once more."


class Destinations:
    """Holds the topics of the cluster as they were when the first record was looked at.

    A letter may come from another cluster, or its topic may be gone: then it stays, and keeps no other letter waiting.
    """

    def __init__(self, worker: WorkerConfig) -> None:
        self._settings = admin_settings(worker.originals, {}, "connect-dlq-topics")
        self._partitions: Mapping[str, int] | None = None

    def require(self, record: RawBatch, deadline: Deadline, *, may_be_made: bool = False) -> None:
        """Raise ConnectError where the record's topic or partition is not there.

        With `may_be_made` a topic that is not there is none: brokers may make it with its first record.
        """
        if self._partitions is None:
            self._partitions = TopicAdmin(self._settings.properties).topics(deadline)
        count = self._partitions.get(record.topic)
        if count is None and may_be_made:
            return
        if count is None:
            raise ConnectError(f"The topic {record.topic!r} is not there.", fix=_FIX)
        if record.partition is not None and record.partition >= count:
            raise ConnectError(
                f"Partition {record.partition} of topic {record.topic} is not there: it has {count}.", fix=_FIX
            )
