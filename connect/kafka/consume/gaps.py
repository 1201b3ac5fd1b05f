"""Describes the offsets of a partition that a group never reads, as its next offset is not in the log. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from connect.api.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Gap:
    """Holds a next offset that a log does not have, and the offset at which the group reads on.

    The log has the offsets from `log_start` up to `log_end`, which is excluded. `policy` is the value of
    auto.offset.reset.
    """

    partition: TopicPartition
    offset: int
    log_start: int
    log_end: int
    reads_on_at: int
    policy: str

    @property
    def is_below_log(self) -> bool:
        """Return True if rows were deleted before the group read them, False if its offset is beyond the log's end."""
        return self.offset < self.log_start

    @property
    def goes_back(self) -> bool:
        """Return True if the group reads on at an offset that it has passed already."""
        return not self.is_below_log

    @property
    def missed_rows(self) -> int:
        """Return how many offsets the group passes over without having read them.

        If its offset is beyond the log's end, all rows of the log count as rows that were not read before.
        """
        return max(0, self.reads_on_at - (self.offset if self.is_below_log else self.log_start))

    def __str__(self) -> str:
        topic, partition = self.partition
        if self.is_below_log:
            deleted = min(self.log_start, self.reads_on_at) - self.offset
            passed = self.missed_rows - deleted
            more = f", and {passed} more were passed over" if passed else ""
            return (
                f"{deleted} rows of {topic}-{partition} (offsets {self.offset} to {self.offset + deleted - 1}) were "
                f"deleted before they were read{more}: the topic's retention, or delete-records, took them. Reading "
                f"went on at offset {self.reads_on_at} (auto.offset.reset={self.policy})."
            )
        missed = f" {self.missed_rows} rows of it were passed over." if self.missed_rows else ""
        return (
            f"Offset {self.offset} of {topic}-{partition}, the next to read, is not in the log, which has offsets "
            f"{self.log_start} to {self.log_end}: the topic was made anew or cut, or the offset was set too far. Rows "
            f"of the former log that were not read are lost. Reading went on at offset {self.reads_on_at} "
            f"(auto.offset.reset={self.policy}).{missed}"
        )
