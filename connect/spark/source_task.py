"""Runs a source task in a Spark process: from stored offsets on, batch by batch, until it has no more rows now."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self, TypeVar

from connect.api.allowed_paths import EVERYWHERE
from connect.api.connector import Connector, SourceTask, TransactionContext
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition, batches_of
from connect.api.topics import NoRecords, SourceTopics, TopicRecords
from connect.lib.deadline import Deadline
from connect.runtime.source.ledger import partition_key

T = TypeVar("T")
_POLL_S: Final = 5.0
_PAUSE_S: Final = 0.5

Positions = Mapping[str, str]
"""Maps source partitions to offsets, each as the JSON text of its map."""


def retried(call: Callable[[], T], timeout_s: float) -> T:
    """Make a call again until the other side answers. RetriableError: it was away for longer than the time-out."""
    deadline = Deadline.after(timeout_s)
    while True:
        try:
            return call()
        except RetriableError:
            if not deadline.wait(_PAUSE_S):
                raise


@dataclass
class FrameContext:
    """Serves as the `SourceContext` where there is no worker: without metrics and dead letters.

    A bad row fails the frame.
    """

    positions: Positions = field(default_factory=dict)
    connector: str = "spark"
    task: int = 0
    transactions: TransactionContext | None = None
    caught_up_s: float | None = None

    def gauge(self, name: str, value: float | None) -> None:
        """Do nothing, as metrics are not kept: Spark has its own."""

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Do nothing, as there is no status to explain."""

    def note(self, notes: Sequence[str]) -> None:
        """Do nothing, as there is no status to note it in."""

    def wake(self) -> None:
        """Do nothing, as a frame's poll ends by its deadline."""

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """Return the offset in Spark's checkpoint."""
        text = self.positions.get(partition_key(partition))
        return None if text is None else dict(json.loads(text))

    def stored_positions(self) -> Sequence[SourcePosition]:
        """Return none: Spark's checkpoint has what the frame's own connector has read, and nobody sets it."""
        return ()

    def topics(self) -> SourceTopics:
        """Raise ConnectError, as a frame is read without a worker's Kafka."""
        raise ConnectError(
            "This source reads Kafka's topics, which no frame has.",
            fix="Run the connector in a worker, and read the topics that it writes.",
        )

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> TopicRecords:
        """Return no records: a frame is read without Kafka, and nobody tells its source what to do."""
        del topic, client, prefix
        return NoRecords()

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Fail: a frame has no dead letters."""
        index, first = next(iter(rows.items()))
        raise ConnectError(
            f"Topic {batch.topic}: {len(rows)} rows can be no rows of a frame; row {index}: {first}",
            fix="Mend them in the source, or run the connector in a worker with errors.tolerance=all.",
        ) from first

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Keep the time: a later one than the first tells that a pass is over."""
        del behind
        self.caught_up_s = at_s


class OpenTask:
    """Keeps one source task open. Owned by one thread; closed by `with` or `close`."""

    def __init__(self, connector: Connector, config: Mapping[str, str], positions: Positions, timeout_s: float) -> None:
        """Open the task at these positions. RetriableError: the source is away for longer than `timeout_s`."""
        self._timeout_s = timeout_s
        self._ctx = FrameContext(positions)
        task = connector.task({**config, **EVERYWHERE})
        assert not hasattr(task, "put"), "the plug-in is declared as a source"
        self._task: SourceTask = task
        self._unit: deque[Batch] = deque()
        """Holds the batches of the last poll that were not returned yet."""
        try:
            retried(lambda: self._task.open(self._ctx), timeout_s)
        except BaseException:
            self._task.close()
            raise
        self._opened_s = self._ctx.caught_up_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self, timeout_s: float = _POLL_S) -> Batch | None:
        """Return the next batch; None if none came within `timeout_s`."""
        if not self._unit:
            polled = retried(lambda: self._task.poll(Deadline.after(timeout_s)), self._timeout_s)
            self._unit.extend(batches_of(polled))
        return self._unit.popleft() if self._unit else None

    @property
    def is_within_unit(self) -> bool:
        """Return True if batches of the last poll were not returned yet: no position counts before all of them did."""
        return bool(self._unit)

    def stored(self, positions: Positions) -> None:
        """Tell the task that rows up to these positions are stored."""
        self._task.stored([SourcePosition(json.loads(key), json.loads(text)) for key, text in positions.items()])

    def batches(self) -> Iterator[Batch]:
        """Yield everything that the source has now; the batches of a poll count as stored when all are taken.

        Some tasks tell up to which time they have read. Such a task is read until that is later than when it was
        opened; any other task is read until it has nothing.
        """
        taken: dict[str, str] = {}
        while True:
            batch = self.poll()
            if batch is not None:
                yield batch
                taken |= positions_of(batch)
            if self.is_within_unit:
                continue
            if taken:
                self.stored(taken)
                taken = {}
            if self.is_dry(batch):
                return

    def is_dry(self, polled: Batch | None) -> bool:
        """Return True if, after a poll, all that the source had when the task was opened is returned and stored."""
        if self._opened_s is None:
            return polled is None
        return self._ctx.caught_up_s is not None and self._ctx.caught_up_s > self._opened_s

    def close(self) -> None:
        """Close the task."""
        self._task.close()


def positions_of(batch: Batch) -> dict[str, str]:
    """Return the positions behind a batch; empty if the batch has none."""
    position = batch.position
    if position is None or position.offset is None:
        return {}
    return {partition_key(position.partition): json.dumps(dict(position.offset))}
