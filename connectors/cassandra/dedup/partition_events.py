"""Decides which events of one input partition are sent on, and from where a restart reads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from connect.api import schema as s
from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Batch, Column, Header, SourcePosition, TopicPartition
from connectors.cassandra.dedup.converters import of_other_converters
from connectors.cassandra.dedup.event_marks import EventMark, marks_of
from connectors.cassandra.dedup.memory import EventMemory
from connectors.cassandra.dedup.pending_copies import EventRow, PendingCopies

_log = logging.getLogger(__name__)
PROTOCOL: Final = "1"
UNCONFIRMED: Final = Header("cassandra.unconfirmed", True, s.BOOLEAN)


def source_partition(place: TopicPartition) -> dict[str, object]:
    """Return the source partition under which the position in an input partition is stored."""
    return {"protocol": PROTOCOL, "topic": place.topic, "partition": place.partition}


class PartitionEvents:
    """Chooses the events of one input partition that are sent on. Owned by the task thread."""

    def __init__(
        self,
        place: TopicPartition,
        output: str,
        memory: EventMemory,
        copies: PendingCopies,
        counts: Counter[str],
    ) -> None:
        """Send events to the topic `output`. `counts` are the counters of the whole task."""
        self.place = place
        self._output = output
        self._seen, self._merge = memory.seen, memory.merge
        self._memory = memory
        self._copies = copies
        self._counts = counts
        self._is_checked = False
        self.next_offset: int | None = None
        """Holds the offset behind the last record that was taken; None before the first one."""

    @property
    def held(self) -> int:
        """Return the number of events that wait for copies."""
        return len(self._copies)

    def take(self, batch: Batch, now_s: float) -> tuple[list[Batch], dict[int, Exception]]:
        """Return the batches to send on, the last one with the position, and the error of each row that is no event.

        ConfigError: the first rows are events whose keys were written by another converter than they were read by.
        """
        assert batch.consumed is not None
        offsets = batch.consumed.offsets.to_pylist()
        chosen: dict[bytes, EventRow] = {}
        bad: dict[int, Exception] = {}
        marks, differing = marks_of(batch), self._of_other_converters(batch)
        if differing is not None and not any(isinstance(mark, SchemaError) for mark in marks):
            raise differing  # no row is bad, so nothing would keep their keys from being written as they are
        for row, mark in enumerate(marks):
            if isinstance(mark, SchemaError):
                bad[row] = differing or mark
            elif mark is None:
                continue
            elif mark.id in self._seen or mark.id in chosen:
                self._counts["duplicates_by_id_total"] += 1
            else:
                event = self._offer(mark, EventRow(mark.id, batch, row, offsets[row]), now_s)
                if event is not None:
                    chosen[mark.id] = event
        self.next_offset = batch.consumed.next_offset
        late = self._late(now_s)
        return self._placed([*late, *self._made(list(chosen.values()))]), bad

    def _of_other_converters(self, batch: Batch) -> ConfigError | None:
        """Return an error if the first rows were written by other converters than they were read by; None otherwise.

        Only the first batch that has rows is examined.
        """
        if self._is_checked or not len(batch):
            return None
        self._is_checked = True
        keys = batch.keys.rows() if batch.keys is not None else [None] * len(batch)
        differing = of_other_converters(self.place.topic, keys, batch.values.rows())
        if differing is not None:
            _log.warning("%s", differing)
        return differing

    def overdue(self, now_s: float) -> list[Batch]:
        """Return the events that have waited too long for copies, each with the header `cassandra.unconfirmed`."""
        late = self._late(now_s)
        return self._placed(late) if late else []

    def _late(self, now_s: float) -> list[Batch]:
        late = self._copies.overdue(now_s, self.next_offset or 0)
        self._counts["unconfirmed_events_total"] += len(late)
        return [
            replace(made, headers=[[*(made.headers[i] if made.headers else ()), UNCONFIRMED] for i in range(len(made))])
            for made in self._made(late)
        ]

    def _offer(self, mark: EventMark, event: EventRow, now_s: float) -> EventRow | None:
        # An event of a snapshot was read from the table at the reader's consistency level, so no other node sends a
        # copy.
        return event if mark.is_snapshot else self._copies.offer(mark.node, event, now_s)

    def _made(self, events: Sequence[EventRow]) -> list[Batch]:
        made = []
        for group in map(list, _runs(events)):
            batch = self._newer(group[0].batch.take([event.row for event in group]))
            for event in group:
                self._seen.add(event.id)
            # A batch carries what is remembered of its events, as each of these batches may be a transaction.
            made.append(replace(batch, state=self._memory.take_changes()))
        self._counts["events_total"] += sum(map(len, made))
        return made

    def _placed(self, made: list[Batch]) -> list[Batch]:
        """Return the batches, the last one with the position; an empty batch if there are none."""
        made = made or [Batch(self._output, Column.from_rows([], s.STRING), state=self._memory.take_changes())]
        made[-1] = replace(made[-1], position=self._position())
        return made

    def _newer(self, batch: Batch) -> Batch:
        batch = replace(batch, topic=self._output, partition=None, consumed=None, position=None)
        if self._merge is None:
            return batch
        keys = batch.keys.rows() if batch.keys is not None else [None] * len(batch)
        kept: list[int] = []
        values = []
        for row, (key, event) in enumerate(zip(keys, batch.values.rows(), strict=True)):
            newer = self._merge.newer(key, event)
            if newer is None:
                self._counts["duplicates_by_cell_total"] += 1
            else:
                kept.append(row)
                values.append(newer)
        return replace(batch.take(kept), values=Column.from_rows(values, batch.values.schema))

    def _position(self) -> SourcePosition | None:
        if self.next_offset is None:
            return None
        held = self._copies.oldest_offset()
        offset = self.next_offset if held is None else held
        return SourcePosition(source_partition(self.place), {"next_offset": offset})


def _runs(events: Sequence[EventRow]) -> Iterable[Iterable[EventRow]]:
    """Return the events in groups that follow each other in the same batch."""
    return (group for _, group in groupby(events, key=lambda event: id(event.batch)))
