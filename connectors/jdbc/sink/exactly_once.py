"""Writes each record once, even without a key: the transaction that writes its row notes its offset, too.

The transaction locks the partition's row in the table of offsets. So another task that still writes rows of this
partition waits, and then sees which rows are written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import sqlalchemy as sa

from connect.api.optional.topic_ids import TopicIds
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.own_tables import WrittenOffsets, places_of
from connectors.jdbc.sink.writer import Bad, TableWriter

TopicId = Callable[[str, Deadline], str | None]


class OnceWriter:
    """Puts rows into tables, and notes their offsets beside them. Owned by the task thread."""

    def __init__(self, writer: TableWriter, offsets: WrittenOffsets, topic_id: TopicId) -> None:
        self._writer = writer
        self._offsets = offsets
        self._topic_ids = TopicIds(topic_id)
        self._reads: dict[TopicPartition, tuple[int, int]] = {}
        """Where the last read of a partition began, as far as is known, and ended."""

    def write(self, batch: Batch, deadline: Deadline) -> Bad:
        """Write the rows that are not there yet, and note their offsets. RetriableError: nothing is written."""
        assert batch.consumed is not None
        partition, next_offset = batch.consumed.topic_partition, batch.consumed.next_offset
        placed = self._topic_ids.placed(batch, deadline).consumed
        topic_id = (placed.topic_id if placed is not None else None) or ""
        places = places_of(batch.consumed)
        is_first = partition not in self._reads
        if is_first:
            self._offsets.make(partition, topic_id)
        base = self._base(partition, next_offset)
        admitted = self._writer.admit(batch)

        def work(connection: sa.Connection) -> Bad:
            written = self._offsets.locked(connection, partition, topic_id)
            if is_first:
                # The first offset of the first read is the committed one. Dead letters of records before it are in
                # Kafka.
                written = written.without_refused_before(places[0].offset)
            left = [row for row, place in enumerate(places) if not written.has(place)]
            bad = self._writer.write(connection, admitted.only(left))
            refused = {places[row]: str(why) for row, why in bad.items()}
            self._offsets.note(connection, partition, topic_id, written.plus(places, refused, base))
            return bad

        bad = self._writer.in_transaction(f"writing rows of topic {batch.topic}", work)
        self._reads[partition] = base, next_offset
        return bad

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions, which another task has now."""
        self._topic_ids.forget(partitions)
        for partition in partitions:
            self._reads.pop(partition, None)

    def _base(self, partition: TopicPartition, next_offset: int) -> int:
        """Return the offset before which all rows are written.

        Batches of a later read come after all batches of the earlier read.
        """
        base, end = self._reads.get(partition, (0, next_offset))
        return end if next_offset > end else base
