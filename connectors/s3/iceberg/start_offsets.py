"""Knows where a task began to read each partition, and so which rows of it a table has and may tell that it has."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from connect.api.records import TopicPartition
from connectors.s3.files.told_notes import ToldNotes
from connectors.s3.iceberg.offset_runs import UNKNOWN, Runs, end_of, joined, limited
from connectors.s3.iceberg.pending_rows import Pending
from connectors.s3.iceberg.progress import TableProgress

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Start:
    """Holds the first offset that was read, and the position behind the poll that had it.

    `others` has the rows that other connectors had added to the table by then.
    """

    first: int
    next_offset: int
    others: Mapping[str, Runs]


class StartOffsets:
    """Holds what one task has read for one table. The task thread owns it.

    `notes` tells people which rows are left out although this connector may not have added them.
    """

    def __init__(self, table: str, connector: str) -> None:
        self._table = table
        self.connector = connector
        self._begun: dict[TopicPartition, _Start] = {}
        self._notes = ToldNotes(_log)

    @property
    def notes(self) -> list[str]:
        """Return what was told so far."""
        return self._notes.texts

    def begin(self, partition: TopicPartition, first: int, next_offset: int, progress: TableProgress) -> None:
        """Note that rows from the offset `first` on are read, of a poll that ends at `next_offset`.

        `progress` is that of the table now. Offsets of the batches of one poll may lie among each other's.
        """
        known = self._begun.get(partition)
        if known is None:
            self._begun[partition] = _Start(first, next_offset, progress.others(self.connector, partition))
        elif known.next_offset == next_offset and first < known.first:
            self._begun[partition] = replace(known, first=first)

    def knows(self, partition: TopicPartition, next_offset: int) -> bool:
        """Return True if a poll that ends here is not the first one of its partition."""
        known = self._begun.get(partition)
        return known is not None and known.next_offset != next_offset

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget where reading of these partitions began, as others may read them meanwhile."""
        for partition in partitions:
            self._begun.pop(partition, None)

    def held(self, partition: TopicPartition, progress: TableProgress) -> Runs:
        """Return which rows of a partition are not to be added, as a table with this progress has them.

        A connector that has added none leaves out what others had added when it began: it may be one of them with
        another name. What they add later is theirs. Where a task of an earlier version writes beside this one, the
        table tells no connectors any more, and all rows that it has count.
        """
        own, begun = progress.own(self.connector, partition), self._begun.get(partition)
        if own is not None or begun is None:
            return own or ()
        untold = progress.others(self.connector, partition).get("", ())
        return joined([*untold, *(run for runs in begun.others.values() for run in runs)])

    def reached(self, progress: TableProgress, pending: Pending, topic_ids: Mapping[str, str | None]) -> TableProgress:
        """Return the table's progress after these rows are added."""
        for partition, end in pending.ends():
            run = (self._begun[partition].first, end)
            runs, closed = limited(joined([*self.held(partition, progress), run]))
            for begin, stop in closed:
                _log.info(
                    "Table %s counts rows of %s-%d from offset %d to %d as added from now on, which no task has read: "
                    "it has too many such gaps to tell them all, and this is the smallest.",
                    self._table, *partition, begin, stop - 1,
                )  # fmt: skip
            progress = progress.advanced(self.connector, partition, topic_ids[partition.topic], runs)
        return progress

    def tell_doubts(self, progress: TableProgress, pending: Pending) -> None:
        """Warn of rows that are left out although this connector may not have added them, once for each partition."""
        for partition in pending.pieces:
            first, own = pending.first_offset(partition), progress.own(self.connector, partition)
            begun = self._begun.get(partition)
            others = begun.others if own is None and begun is not None else {}
            for name, runs in others.items():
                if name and first is not None and first < end_of(runs):
                    self._tell(partition, f"connector {name} has added rows of these offsets", end_of(runs),
                               "That is right if this connector is that one with another name")  # fmt: skip
            unknown = [end for begin, end in (*(own or ()), *others.get("", ())) if begin == UNKNOWN]
            if unknown and first is not None and first < unknown[0]:
                self._tell(partition, "an earlier version added rows of these offsets and did not tell where it began",
                           unknown[0], "That is right if it had read all of them")  # fmt: skip

    def _tell(self, partition: TopicPartition, why: str, end: int, when_right: str) -> None:
        where = f"{partition.topic}-{partition.partition} before offset {end}"
        self._notes.tell(
            (partition, why),
            f"Rows of {where} are not added to table {self._table}: {why}. {when_right}; else give this connector a "
            "table of its own.",
        )
