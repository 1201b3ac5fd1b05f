"""Computes in plain Python what a deduplicated table must hold after some records, and draws logs of records to try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Batch, Column, Consumed, TopicPartition

TOPIC = "orders"
KEY = s.struct({"id": s.INT64.as_optional(), "region": s.STRING}, optional=True)
VALUE = s.struct(
    {
        "id": s.INT64.as_optional(),
        "region": s.STRING,
        "version": s.INT64,
        "text": s.STRING.as_optional(),
        "gone": s.BOOLEAN,
        "at": s.TIMESTAMP_SCHEMA,
    },
    optional=True,
)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Message:
    """Holds a record of the log. `text` is None if it is a tombstone. `gone` is the value of the field of that name."""

    partition: int
    offset: int
    id: int | None
    time_s: int
    version: int = 0
    text: str | None = "x"
    gone: bool = False
    region: str = "eu"
    topic: str = TOPIC
    at_s: int | None = None

    @property
    def value(self) -> dict[str, Any] | None:
        if self.text is None:
            return None
        at = self.time if self.at_s is None else EPOCH + timedelta(seconds=self.at_s)
        return {
            "id": self.id, "region": self.region, "version": self.version, "text": self.text, "gone": self.gone,
            "at": at,
        }  # fmt: skip

    @property
    def time(self) -> datetime:
        return EPOCH + timedelta(seconds=self.time_s)

    @property
    def order(self) -> tuple[Any, ...]:
        """Return the sort key of the record under dedup.order.by=__timestamp."""
        return (self.time_s, self.partition, self.offset, self.topic)

    @property
    def version_order(self) -> tuple[Any, ...]:
        """Return the sort key of the record under dedup.order.by=version."""
        return (self.version, self.time_s, self.partition, self.offset, self.topic)


def batch_of(messages: Sequence[Message], *, next_offset: int | None = None) -> Batch:
    """Return messages of one partition, in order, as the batch that the framework gives to a sink."""
    first = messages[0]
    offsets = [m.offset for m in messages]
    return Batch(
        first.topic,
        values=Column.from_arrow(pa.array([m.value for m in messages], arrow_type(VALUE)), VALUE),
        keys=Column.from_arrow(pa.array([{"id": m.id, "region": m.region} for m in messages], arrow_type(KEY)), KEY),
        timestamps_ms=pa.array([int(m.time.timestamp() * 1000) for m in messages], pa.int64()),
        partition=first.partition,
        consumed=Consumed(
            TopicPartition(first.topic, first.partition),
            pa.array(offsets, pa.int64()),
            next_offset or offsets[-1] + 1,
        ),
    )


def latest(messages: Iterable[Message], *, by_version: bool = False, field_deletes: bool = False) -> dict[int, Message]:
    """Return the rows by id under dedup.keep=latest: each is the last message by order, unless that one deletes the
    row.
    """
    winners: dict[int, Message] = {}
    for message in messages:
        if message.id is None:
            continue
        order = message.version_order if by_version else message.order
        before = winners.get(message.id)
        if before is None or order > (before.version_order if by_version else before.order):
            winners[message.id] = message
    return {k: m for k, m in winners.items() if m.text is not None and not (field_deletes and m.gone)}


def behind_tombstones(messages: Iterable[Message]) -> list[Message]:
    """Return the records behind which no tombstone of their key stands in their partition; tombstones are left out."""
    log = list(messages)
    last: dict[tuple[int | None, str, int], int] = {}
    for message in log:
        if message.text is None:
            place = (message.id, message.topic, message.partition)
            last[place] = max(message.offset, last.get(place, -1))
    return [m for m in log if m.text is not None and m.offset > last.get((m.id, m.topic, m.partition), -1)]


def first(batches: Iterable[Sequence[Message]]) -> dict[int, Message]:
    """Return the rows by id under dedup.keep=first: of the first batch with an id, the message that is first by
    order.
    """
    rows: dict[int, Message] = {}
    for batch in batches:
        found: dict[int, Message] = {}
        for message in batch:
            if message.id is not None and message.text is not None:
                before = found.get(message.id)
                if before is None or message.order < before.order:
                    found[message.id] = message
        rows = {**found, **rows}
    return rows


@st.composite
def logs(
    draw: st.DrawFn, *, most: int = 24, deletes: bool = True, null_keys: bool = True, own_keys: bool = False
) -> list[list[Message]]:
    """Draw partitions with messages of few ids; times and versions are out of order and often equal.

    With `own_keys` no id is in two partitions. A log may have only one id, as tests of a delete and the records around
    it need many of one id.
    """
    partitions = draw(st.integers(1, 3))
    found = []
    ids = st.integers(1, draw(st.sampled_from([1, 2, 4])))
    ids = st.one_of(ids, ids, st.none()) if null_keys else ids
    for partition in range(partitions):
        count = draw(st.integers(0, most // partitions))
        messages, offset = [], draw(st.integers(0, 5))
        for _ in range(count):
            is_tombstone, number = deletes and draw(st.integers(0, 4)) == 0, draw(ids)
            messages.append(
                Message(
                    partition,
                    offset,
                    number + 10 * partition if own_keys and number is not None else number,
                    time_s=draw(st.integers(0, 5)),
                    version=draw(st.integers(0, 3)),
                    text=None if is_tombstone else f"{partition}@{offset}",
                    gone=deletes and draw(st.integers(0, 2)) == 0,
                )
            )
            offset += draw(st.integers(1, 2))
        found.append(messages)
    return found


@st.composite
def histories(draw: st.DrawFn, **of_logs: Any) -> list[list[Sequence[Message]]]:
    """Draw merges, each a list of runs of messages of one partition.

    All messages of a log are cut anywhere into runs and dealt out to tasks. Some runs are replayed from an earlier
    place, as after a crash.
    """
    runs: list[list[Sequence[Message]]] = []
    for messages in draw(logs(**of_logs)):
        start, queue = 0, []
        while start < len(messages):
            stop = draw(st.integers(start + 1, min(len(messages), start + 6)))
            queue.append(messages[start:stop])
            # After a crash before the offset was committed, the next run begins again at an earlier place.
            start = stop if draw(st.integers(0, 3)) else draw(st.integers(0, stop - 1)) if len(queue) < 12 else stop
        runs.append(queue)
    merges: list[list[Sequence[Message]]] = []
    while any(runs):
        # One merge takes the runs that some tasks have staged: one or two of some partitions.
        taken = []
        for queue in runs:
            count = draw(st.integers(0, 2))
            taken.extend(queue[:count])
            del queue[:count]
        if not taken:
            longest = max(runs, key=len)
            taken.append(longest.pop(0))
        merges.append(taken)
    if merges and draw(st.booleans()):
        merges.append(merges[draw(st.integers(0, len(merges) - 1))])  # a zombie task repeats a merge late
    return merges
