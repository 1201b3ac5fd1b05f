"""Decides where a group reads on whose next offset is not in the log, and which offsets it skips by that.

librdkafka is set to auto.offset.reset=error, as otherwise it would jump and only log a line. Its error names the
partition and the offset. Then brokers are asked for both ends of the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.client.errors import is_retriable, translate
from connect.kafka.consume.columns import ReadError
from connect.kafka.consume.gaps import Gap
from connect.kafka.consume.last_rows import LastRows
from connect.kafka.consume.reset_policy import ResetPolicy
from connect.kafka.raw import RawBatch

_LOG = logging.getLogger(__name__)
_ANSWER_S: Final = 2.0
_AGAIN_S: Final = 1.0
"""Brokers that did not answer are asked again after this time."""
_OUT_OF_RANGE: Final = "out of range"
"""librdkafka's text has this if a broker refused the offset. Otherwise leader epochs showed that the log was cut."""
_KEY: Final = "consumer.override.auto.offset.reset"


class _Lost(NamedTuple):
    """Holds a place that librdkafka could not read from; `offset` is None if it named none.

    `is_chosen` is True if a seek chose the offset meanwhile.
    """

    offset: int | None
    is_out_of_range: bool
    is_chosen: bool = False


class OffsetResets:
    """Keeps the partitions that stand still until it is known where to read on. Owned by the consumer's thread."""

    def __init__(self, consumer: Consumer, policy: ResetPolicy, last_rows: LastRows) -> None:
        self._consumer = consumer
        self._policy = policy
        self._last_rows = last_rows
        self._lost: dict[TopicPartition, _Lost] = {}
        self._moved: dict[TopicPartition, int] = {}
        """Holds the offsets from which partitions that had stood still were read on."""
        self._next_s = 0.0
        self._gaps: list[Gap] = []

    def takes(self, failed: ReadError, owned: Collection[TopicPartition]) -> bool:
        """Return True if an error says that an offset is not in the log, and note its partition.

        librdkafka keeps such an error in its queue also when the partition goes away or is read from elsewhere.
        """
        if failed.error.code() != KafkaError._AUTO_OFFSET_RESET or failed.partition is None:  # noqa: SLF001 - librdkafka's own code
            return False
        offset = failed.offset if failed.offset >= 0 else None
        is_old = offset is not None and offset < self._moved.get(failed.partition, 0)
        if failed.partition not in owned or is_old:
            return True
        self._lost[failed.partition] = _Lost(offset, _OUT_OF_RANGE in failed.error.str().lower())
        return True

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are no longer read, or are read from another place."""
        for tp in partitions:
            self._lost.pop(tp, None)
            self._moved.pop(tp, None)
        self._last_rows.forget(partitions)

    def read(self, batches: Sequence[RawBatch]) -> None:
        """Note rows that were read."""
        self._last_rows.note(batches)

    def moves(self, partition: TopicPartition, offset: int) -> bool:
        """Return True if a partition stands still. Then it reads on at this offset, if the log has it."""
        if partition not in self._lost:
            return False
        self._lost[partition] = _Lost(offset, is_out_of_range=True, is_chosen=True)
        return True

    def take_gaps(self) -> list[Gap]:
        """Return the gaps that were found since the last call."""
        found, self._gaps = self._gaps, []
        return found

    def settle(self, restart: Callable[[Mapping[TopicPartition, int], Collection[Gap]], None]) -> None:
        """Ask brokers where partitions read on, and call `restart` with the offsets, and the gaps before them.

        Raise ConnectError if auto.offset.reset=none forbids that.
        """
        if not self._lost or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _AGAIN_S
        self.forget(self._passed())
        try:
            starts, gaps = self._starts()
        except KafkaException as error:
            cause = error.args[0]
            if not is_retriable(cause):
                raise translate(cause, "asking where a log begins and ends") from error
            _LOG.info("Brokers did not tell where logs begin and end: %s", cause.str())
            return
        self._next_s = 0.0 if len(starts) == len(self._lost) else self._next_s
        self.forget(starts)
        self._moved |= starts
        for gap in gaps:
            _LOG.warning("%s", gap)
        self._gaps += gaps
        if starts:
            restart(starts, gaps)

    def _passed(self) -> list[TopicPartition]:
        """Return the partitions of which rows behind the lost place were given since: their errors are old."""
        named = [tp for tp, lost in self._lost.items() if lost.offset is not None and not lost.is_chosen]
        positions = _offsets(self._consumer.position([KafkaPartition(*tp) for tp in named]))
        return [tp for tp, position in positions.items() if position > (self._lost[tp].offset or 0)]

    def _starts(self) -> tuple[dict[TopicPartition, int], list[Gap]]:
        """Return the offsets to read on at, and the gaps, of partitions whose brokers answer. Raise KafkaException."""
        before = self._offsets_before()
        new = [tp for tp in self._lost if tp not in before]
        if self._policy.is_none and new:
            raise ConnectError(
                f"The consumer group has committed no offset of {_name(new[0])}, and auto.offset.reset=none forbids "
                "to choose one: it is not in the log where to begin.",
                key=_KEY,
                fix="Set the sink's offsets to where it shall begin, or auto.offset.reset to earliest.",
            )
        now_ms = time.time_ns() // 1_000_000
        chosen = self._ask(self._lost, self._policy.place(now_ms))
        starts = {tp: chosen[tp] for tp in new if tp in chosen}
        first, end = self._ask(before, OFFSET_BEGINNING), self._ask(before, OFFSET_END)
        gaps = []
        known = before.keys() & first.keys() & end.keys() & chosen.keys()
        present = {tp for tp in known if self._lost[tp].is_out_of_range and first[tp] <= before[tp] <= end[tp]}
        others = self._other_logs(present)
        for tp in known - (present - others.keys()):
            offset = before[tp]
            if others.get(tp) is False:
                starts[tp] = offset  # It was out of range for a moment, for example as a leader had just begun.
                continue
            gap = Gap(tp, offset, first[tp], end[tp], chosen[tp], self._policy.text)
            if self._policy.is_none:
                raise ConnectError(
                    f"Offset {offset} of {_name(tp)} is not in the log, which has offsets {gap.log_start} to "
                    f"{gap.log_end}, and auto.offset.reset=none forbids to read on elsewhere.",
                    key=_KEY,
                    fix="Set the sink's offsets to where it shall go on.",
                )
            starts[tp] = gap.reads_on_at
            gaps.append(gap)
        return starts, gaps

    def _other_logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, bool]:
        """Tell of each log that has the offset now if it is another one than was read, where brokers say so for now."""
        chosen = {tp for tp in partitions if self._lost[tp].is_chosen}
        return dict.fromkeys(chosen, False) | self._last_rows.show_other_logs(set(partitions) - chosen)

    def _offsets_before(self) -> dict[TopicPartition, int]:
        """Return the next offset of each partition, without those of which the group has read and committed nothing."""
        known = {tp: lost.offset for tp, lost in self._lost.items() if lost.offset is not None}
        unknown = [KafkaPartition(*tp) for tp in self._lost if tp not in known]
        if unknown:
            known |= _offsets(self._consumer.position(unknown))
        asked = [KafkaPartition(*tp) for tp in self._lost if tp not in known]
        if asked:
            known |= _offsets(self._consumer.committed(asked, timeout=_ANSWER_S))
        return known

    def _ask(self, partitions: Collection[TopicPartition], place: int) -> dict[TopicPartition, int]:
        """Return the offset at a place of each log; it is the log's end if all rows are older than the place's time."""
        if not partitions:
            return {}
        wanted = [KafkaPartition(*tp, place) for tp in sorted(partitions)]
        found = self._consumer.offsets_for_times(wanted, timeout=_ANSWER_S)
        ends = [TopicPartition(p.topic, p.partition) for p in found if p.error is None and p.offset == OFFSET_END]
        return _offsets(found) | (self._ask(ends, OFFSET_END) if place != OFFSET_END else {})


def _offsets(found: Collection[KafkaPartition]) -> dict[TopicPartition, int]:
    return {TopicPartition(p.topic, p.partition): p.offset for p in found if p.error is None and p.offset >= 0}


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
