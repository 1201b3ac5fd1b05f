"""Finds where a reader without a group begins in partitions of which it has read nothing, by its auto.offset.reset."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.consume.reset_policy import ResetPolicy
from connect.lib.deadline import Deadline

_LEAST_S: Final = 5.0
"""Brokers get so long to answer, as a poll may be shorter than a new client needs to connect."""


class StartOffsets:
    """Asks brokers for the places that a policy says."""

    def __init__(self, admin: TopicAdmin, policy: ResetPolicy, committed_only: bool) -> None:
        self._admin, self._policy, self._committed_only = admin, policy, committed_only

    def filled(
        self, starts: Mapping[TopicPartition, int | None], deadline: Deadline
    ) -> Mapping[TopicPartition, int | None]:
        """Return the starts with offsets instead of None; None stays where the first record is meant.

        It is meant, too, of topics that are not there: all of their records are new. Raise ConnectError if
        auto.offset.reset=none forbids to choose, and RetriableError when no broker answers.
        """
        new = sorted(place for place, start in starts.items() if start is None)
        if not new:
            return starts
        if self._policy.is_none:
            raise ConnectError(
                f"No offset of {new[0].topic}-{new[0].partition} is stored, and auto.offset.reset=none forbids to "
                "choose one.",
                key="auto.offset.reset",
                fix="Store the offset to begin at, or set auto.offset.reset to earliest.",
            )
        if self._policy.is_earliest:
            return starts
        longer = Deadline(max(deadline.at_s, time.monotonic() + _LEAST_S), deadline.stop)
        counts = self._admin.topics(longer)
        return {
            **starts,
            **self._asked([one for one in new if one.partition < counts.get(one.topic, 0)], longer),
        }

    def _asked(self, there: Collection[TopicPartition], deadline: Deadline) -> dict[TopicPartition, int]:
        at_ms = self._policy.place(time.time_ns() // 1_000_000)
        found = {} if self._policy.is_latest else self._admin.offsets_at(there, at_ms, deadline)
        rest = [one for one in there if one not in found]
        return {**found, **self._admin.end_offsets(rest, deadline, committed_only=self._committed_only)}
