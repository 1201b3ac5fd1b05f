"""Tells the log that was read from another one at its place, whose offsets are other rows.

A topic may be deleted, made anew and filled beyond a reader's offset, or a log be cut and filled again, before it is
asked where the log ends. Then the row that was read last is not there any more, or another one has its offset.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

_LOG = logging.getLogger(__name__)
_ANSWER_S: Final = 5.0


class LastRows:
    """Keeps offset and timestamp of the row that was read last of each partition. Owned by the consumer's thread."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        """Take the settings of the consumer that reads a row again."""
        self._settings = settings
        self._rows: dict[TopicPartition, tuple[int, int]] = {}

    def note(self, batches: Sequence[RawBatch]) -> None:
        """Note the last rows of these batches."""
        for batch in batches:
            time_ms = batch.timestamps_ms[-1].as_py() if batch.timestamps_ms is not None and len(batch) else None
            if time_ms is not None and batch.offsets is not None and batch.partition is not None:
                self._rows[TopicPartition(batch.topic, batch.partition)] = batch.offsets[-1].as_py(), time_ms

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are no longer read, or are read from another place."""
        for tp in partitions:
            self._rows.pop(tp, None)

    def show_other_logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, bool]:
        """Tell of each partition if its log has another row where the last one was read.

        It is False also where nobody knows: no row was read, or compaction has removed it. Partitions of which brokers
        do not give the row in time are left out. All are asked at once, as the group's member has to poll again soon.
        """
        answers = {tp: False for tp in partitions if tp not in self._rows}
        rows = {tp: self._rows[tp] for tp in partitions if tp in self._rows}
        spans = {tp: OffsetRange(offset, offset + 1) for tp, (offset, _) in rows.items()}
        try:
            for batch in read_spans(self._settings, spans, Deadline.after(_ANSWER_S)):
                tp = TopicPartition(batch.topic, batch.partition or 0)
                times_ms = batch.timestamps_ms
                answers[tp] = times_ms is not None and times_ms[0].as_py() != rows[tp][1]
        except RetriableError as error:
            _LOG.info("Brokers did not give all rows that were read last: %s", error)
            return answers
        return dict.fromkeys(partitions, False) | answers
