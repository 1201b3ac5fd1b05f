"""Dead letters: a sink's bad rows as they were read, with Connect's context headers, durable before offsets move."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.kafka.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.runtime.messages import TaskId
from connect.runtime.tolerance import BadRow

PREFIX = "__connect.errors."
"""Prefix of the context headers (org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter)."""


class DeadLetters:
    """Writes bad rows to the dead-letter topic. Owned by the task thread.

    `current` is the batch being worked on; the loop sets it, as a bad row is taken from it by its offset.
    """

    def __init__(
        self, producer: BatchProducer, topic: str, task: TaskId, *, context_headers: bool, timeout_s: float
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._task = task
        self._context_headers = context_headers
        self._timeout_s = timeout_s
        self.current: RawBatch | None = None

    def add(self, rows: list[BadRow]) -> None:
        """Send bad rows; they are durable after `flush`."""
        source = self.current
        if source is None or source.offsets is None:
            raise ConnectError(f"No record is at hand for the dead letter of {rows[0].place}.")
        index_of = {offset: i for i, offset in enumerate(source.offsets.to_pylist())}
        indices = [index_of[row.offset] for row in rows if row.offset is not None]
        originals = source.take(indices)
        letters = RawBatch(
            topic=self._topic,
            values=originals.values,
            keys=originals.keys,
            headers=[
                [*(kept or ()), *(self._context(row) if self._context_headers else ())]
                for kept, row in zip(originals.headers or [()] * len(rows), rows, strict=True)
            ],
            timestamps_ms=originals.timestamps_ms,
        )
        deadline = Deadline.after(self._timeout_s)
        self._producer.send(letters, deadline)

    def flush(self, deadline: Deadline) -> None:
        """Return when every dead letter is acknowledged. RetriableError when the deadline passes first."""
        if self._producer.outstanding:
            self._producer.flush(deadline)

    def close(self, timeout_s: float) -> None:
        """Release the producer."""
        self._producer.close(timeout_s)

    def _context(self, row: BadRow) -> Sequence[tuple[str, bytes | None]]:
        texts = {
            "topic": row.topic,
            "partition": str(row.partition),
            "offset": str(row.offset),
            "connector.name": self._task.connector,
            "task.id": str(self._task.task),
            "stage": row.stage.value,
            "class.name": row.component,
            "exception.class.name": f"{type(row.error).__module__}.{type(row.error).__qualname__}",
            "exception.message": str(row.error),
            "exception.stacktrace": "".join(traceback.format_exception(row.error)),
        }
        return [(PREFIX + name, text.encode()) for name, text in texts.items()]
