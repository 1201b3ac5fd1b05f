"""Reads its partitions of the agents' topics, and sends on one event for all copies of it.

Events, the position in the input and what is remembered are written in one transaction, so that a crash neither loses
nor repeats an event. What is remembered is kept in a compacted topic, which is read when the task begins.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

from connect.api.connector import SourceContext
from connect.api.errors import ConnectError
from connect.api.records import Batch, SourcePosition, TopicPartition
from connect.api.state import StateEntry
from connect.api.topics import SourceTopics
from connect.lib.deadline import Deadline
from connectors.cassandra.dedup.config import CassandraDedupTaskConfig
from connectors.cassandra.dedup.memory import EventMemory
from connectors.cassandra.dedup.partition_events import PartitionEvents, source_partition
from connectors.cassandra.dedup.pending_copies import PendingCopies

log = logging.getLogger(__name__)
LOOK_S = 10.0
"""The task looks for new topics and partitions once in so many seconds."""
_OPEN_S = 300.0
_WAIT_S = 0.2


class CassandraDedupTask:
    """Reads its share of the input partitions. Owned by the task thread."""

    def __init__(
        self,
        config: CassandraDedupTaskConfig,
        clock: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Take the task's settings. `clock` returns monotonic seconds, `now_s` returns seconds since 1970."""
        self._config = config
        self._clock = clock
        self._now_s = now_s
        self._context: SourceContext | None = None
        self._topics: SourceTopics | None = None
        self._parts: dict[TopicPartition, PartitionEvents] = {}
        self._memories: list[EventMemory] = []
        self._read_places: set[TopicPartition] = set()
        self._ready: deque[Batch] = deque()
        self._counts: Counter[str] = Counter()
        self._next_look_s = 0.0

    def open(self, ctx: SourceContext) -> None:
        """Find the task's partitions, read what is remembered of their events, and go on from the stored positions."""
        self._context = ctx
        self._topics = ctx.topics()
        self._find(Deadline.after(_OPEN_S), is_running=False)

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next events to send on; None if there are none by the deadline."""
        assert self._topics is not None
        while not self._ready:
            if self._clock() >= self._next_look_s:
                self._find(deadline, is_running=True)
            if not self._ready:
                self._late()
            if not self._ready:
                self._read(deadline)
            if not self._ready and deadline.expired:
                return None
        self._tell()
        return self._ready.popleft()

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Do nothing: the retention of the input topics deletes their records."""

    def close(self) -> None:
        """Remove the temporary files."""
        for memory in self._memories:
            memory.close()

    def _read(self, deadline: Deadline) -> None:
        assert self._topics is not None
        assert self._context is not None
        held = any(part.held for part in self._parts.values())
        wait_s = min(_WAIT_S, deadline.remaining_s) if held else deadline.remaining_s
        batch = self._topics.poll(Deadline.after(max(0.0, wait_s)) if held else deadline)
        if batch is None:
            return
        assert batch.consumed is not None
        made, bad = self._parts[batch.consumed.topic_partition].take(batch, self._clock())
        if bad:
            self._context.reject(batch, bad)
        self._ready.extend(made)

    def _late(self) -> None:
        for part in self._parts.values():
            if part.held:
                self._ready.extend(part.overdue(self._clock()))

    def _find(self, deadline: Deadline, *, is_running: bool) -> None:
        """Begin to read partitions that are new to this task. The others go on from where they are.

        A task that `is_running` may have a transaction open itself.
        """
        assert self._topics is not None
        assert self._context is not None
        for memory in self._memories:
            memory.forget(self._forget_before_s())
        counts = self._topics.partition_counts(self._config.topics, deadline)
        self._say_missing(sorted(set(self._config.topics) - set(counts)))
        mine = [
            TopicPartition(topic, number)
            for topic, partitions in sorted(counts.items())
            for number in range(self._config.share, partitions, self._config.share_of)
        ]
        new = [place for place in mine if place not in self._parts]
        if new:
            state = self._state_name()
            count = self._topics.make_state(state, max(counts.values()), deadline)
            for place in new:
                stored = self._context.stored_offset(source_partition(place))
                # Nothing was written of a new topic, and waiting for the task's own transaction would hold all up.
                waits = stored is not None or not is_running
                at = TopicPartition(state, place.partition % count)
                part = self._part(place, at, self._topics.state(*at, deadline, committed_only=not waits))
                part.next_offset = None if stored is None else _offset(stored.get("next_offset"), place)
                self._parts[place] = part
        if self._parts.keys() != self._read_places:
            self._topics.read({place: part.next_offset for place, part in self._parts.items()})
            self._read_places = set(self._parts)
        # After an error the next poll looks again, and nothing is read before that.
        self._next_look_s = self._clock() + LOOK_S

    def _part(self, place: TopicPartition, state: TopicPartition, entries: Iterable[StateEntry]) -> PartitionEvents:
        config = self._config
        # A restart reads again what was read since the oldest event that is held, and has to know all copies in it.
        read_again = config.remember_ids if config.copies_required > 1 else 0
        ids = config.remember_ids + read_again
        memory = EventMemory(place, state, ids, merge_cells=config.merge_cells, now_s=self._now_s)
        try:
            memory.load(entries)
        except BaseException:
            memory.close()
            raise
        self._memories.append(memory)
        memory.forget(self._forget_before_s())
        wait_s = config.copies_wait_ms / 1000
        copies = PendingCopies(config.copies_required, wait_s, config.remember_ids // 2, read_again)
        return PartitionEvents(place, config.output_of(place.topic), memory, copies, self._counts)

    def _forget_before_s(self) -> float:
        """Return the time, in seconds since 1970, before which removals and expired values are forgotten."""
        return self._now_s() - self._config.deletes_retention_ms / 1000

    def _state_name(self) -> str:
        assert self._context is not None
        return self._config.state_topic or f"{self._context.connector}-state"

    def _say_missing(self, missing: Iterable[str]) -> None:
        assert self._context is not None
        names = ", ".join(missing)
        self._context.explain(
            f"Topics that do not exist yet are waited for: {names}. The agents make them with the first change."
            if names
            else None
        )

    def _tell(self) -> None:
        assert self._context is not None
        for name in ("events_total", "duplicates_by_id_total", "duplicates_by_cell_total", "unconfirmed_events_total"):
            self._context.gauge(name, self._counts[name])
        self._context.gauge("held_events", sum(part.held for part in self._parts.values()))


def _offset(value: object, place: TopicPartition) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConnectError(
            f"The stored offset of {place.topic}-{place.partition} is {value!r}.",
            fix="Reset the connector's offsets to read the topic from its beginning.",
        )
    return value
