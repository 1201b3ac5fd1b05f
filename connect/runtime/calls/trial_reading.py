"""Reads rows of a source's tasks without a worker. No offset is stored, so each task begins at the first row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from connect.api.connector import SourceTask
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition, batches_of
from connect.api.topics import NoRecords, SourceTopics, TopicRecords
from connect.lib.deadline import Deadline
from connect.runtime.parts.connector_settings import ConnectorParts

_POLL_S: Final = 1.0
_EMPTY_POLLS: Final = 3
"""A task counts as read to its end once so many polls in a row gave no rows."""


@dataclass(slots=True)
class _Context:
    """The `SourceContext` of a task that is read without a worker."""

    connector: str
    task: int
    refuse: Callable[[Exception], None]
    transactions: None = None

    def gauge(self, name: str, value: float | None) -> None:
        """Do nothing, as metrics are not kept."""

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Do nothing, as there is no status to explain."""

    def note(self, notes: Sequence[str]) -> None:
        """Do nothing, as nobody looks at a trial's status."""

    def wake(self) -> None:
        """Do nothing, as each poll of a sample is a short one."""

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Do nothing, as the lag is not measured."""

    def stored_offset(self, partition: Mapping[str, object]) -> None:
        """Return None, as no offset is stored."""

    def stored_positions(self) -> Sequence[SourcePosition]:
        """Return no positions, as no offset is stored."""
        return ()

    def topics(self) -> SourceTopics:
        """Raise ConnectError, as a sample is read without Kafka."""
        raise ConnectError(
            "This source reads Kafka's topics, which a sample is read without.",
            fix="Evaluate the connector that writes these topics.",
        )

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> TopicRecords:
        """Return no records, as a sample is read without Kafka: its source gets no orders from a topic."""
        del topic, client, prefix
        return NoRecords()

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Hand on the errors of the rows that the task gave up."""
        del batch
        for error in rows.values():
            self.refuse(error)


def read_batches(
    parts: ConnectorParts,
    rows: int,
    deadline: Deadline,
    *,
    on_refused: Callable[[Exception], None] = lambda _: None,
    on_tasks: Callable[[int], None] = lambda _: None,
) -> Iterator[Batch]:
    """Read batches, one task after the other, until there are `rows` rows or the deadline has passed.

    `on_refused` is called with the error of each row that a task gives up and of each poll that is to be tried again,
    `on_tasks` with the number of tasks. Other errors of the connector pass through.
    """
    connector = parts.build_connector()
    configs = connector.task_configs(int(parts.resolved.get("tasks.max", "1")))
    on_tasks(len(configs))
    for number, config in enumerate(configs):
        task = cast("SourceTask", connector.task(parts.task_config(config)))
        try:
            task.open(_Context(parts.resolved.get("name", ""), number, on_refused))
            for batch in _polled(task, rows, deadline, on_refused):
                rows -= len(batch)
                yield batch
        finally:
            task.close()
        if rows <= 0 or deadline.expired:
            return


def _polled(
    task: SourceTask, rows: int, deadline: Deadline, on_refused: Callable[[Exception], None]
) -> Iterator[Batch]:
    empty = 0
    while rows > 0 and not deadline.expired and empty < _EMPTY_POLLS:
        try:
            polled = batches_of(task.poll(Deadline.after(min(_POLL_S, deadline.remaining_s))))
        except RetriableError as error:
            empty += 1
            on_refused(error)
            continue
        unit = [batch for batch in polled if len(batch)]
        empty = 0 if unit else empty + 1
        rows -= sum(map(len, unit))
        yield from unit
