"""Looks up if a log still holds a record that was read from it."""

from __future__ import annotations

from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part
from connect.kafka.consume.log_reader import OffsetRange, Settings, read_spans
from connect.lib.deadline import Deadline


def has_record(settings: Settings, place: TopicPartition, offset: int, timestamp_ms: int, deadline: Deadline) -> bool:
    """Return True if a log holds a record of this timestamp at this offset now. `settings` are those of a consumer.

    RetriableError: no broker answers.
    """
    # A reader of an offset behind the end would begin at the first one, and read all.
    if TopicAdmin(admin_part(settings)).end_offsets([place], deadline)[place] <= offset:
        return False
    wanted = offset, timestamp_ms
    return any(
        wanted in zip(batch.offsets.to_pylist(), batch.timestamps_ms.to_pylist(), strict=True)
        for batch in read_spans(settings, {place: OffsetRange(offset, offset + 1)}, deadline)
        if batch.offsets is not None and batch.timestamps_ms is not None
    )
