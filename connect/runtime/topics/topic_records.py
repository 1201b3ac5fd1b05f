"""Reads a topic that tells a source what to do: implements the contract's `TopicRecords` with its own consumer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.api.topics import TopicRecord
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part
from connect.kafka.consume.consumer import BatchConsumer, Settings
from connect.lib.deadline import Deadline

_POLL_RECORDS: Final = 500
_CLOSE_S: Final = 5.0


class KafkaTopicRecords:
    """Reads partition 0 of one topic. It connects at the first call; the polling thread owns it until `close`."""

    def __init__(self, topic: str, consumer: Settings) -> None:
        self._place = TopicPartition(topic, 0)
        # If retention has deleted the record at an offset, reading goes on at the first record that is left.
        self._settings = {**consumer, "auto.offset.reset": "earliest"}
        self._has_consumer = False

    def begin(self, at: int | None, deadline: Deadline) -> int:
        """Read from the offset nearest to `at`, or from the end if it is None. Return where reading begins."""
        if not self._admin.partition_counts([self._place.topic], deadline):
            raise RetriableError(f"Topic {self._place.topic} does not exist.", fix="Create it with one partition.")
        first = self._admin.beginning_offsets([self._place], deadline)[self._place]
        end = self._admin.end_offsets([self._place], deadline)[self._place]
        start = end if at is None else min(max(at, first), end)
        self._consumer.assign({self._place: start})
        return start

    def poll(self, deadline: Deadline) -> Sequence[TopicRecord]:
        """Return the records that came since the last call."""
        found = []
        for raw in self._consumer.poll(_POLL_RECORDS, deadline):
            assert raw.offsets is not None
            keys = [None] * len(raw) if raw.keys is None else raw.keys.to_pylist()
            columns = (keys, raw.values.to_pylist(), raw.offsets.to_pylist())
            found += [TopicRecord(*record) for record in zip(*columns, strict=True)]
        return found

    def close(self) -> None:
        """Close the consumer."""
        if self._has_consumer:
            self._consumer.close(Deadline.after(_CLOSE_S))

    @cached_property
    def _admin(self) -> TopicAdmin:
        return TopicAdmin(admin_part(self._settings))

    @cached_property
    def _consumer(self) -> BatchConsumer:
        made = BatchConsumer(self._settings)
        self._has_consumer = True
        return made
