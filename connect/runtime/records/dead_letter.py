"""Writes dead letters of a sink: bad rows as they were read, with Kafka Connect's headers about the failure.

The letters are durable before the offsets behind them are committed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.kafka.produce.pooled_producer import RowProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.records.java_errors import java_class
from connect.runtime.records.tolerance import BadRow
from connect.runtime.task.task_id import TaskId
from connect.telemetry.secret_texts import SECRET_TEXTS

PREFIX: Final = "__connect.errors."
"""This is the beginning of the names of headers about a failure, as in Kafka Connect
(org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter).
"""
ReadAgain = Callable[[TopicPartition, int, Deadline], RawBatch]
"""Reads one record from Kafka, by its offset."""


class DeadLetters:
    """Sends bad rows to the dead-letter topic. Owned by the task thread.

    The loop sets `current` to the batch that it works on; the record of a bad row is taken from there by its offset.
    The record of a row that the sink gives up later is read from Kafka again.
    """

    def __init__(
        self,
        producer: RowProducer,
        topic: str,
        task: TaskId,
        *,
        context_headers: bool,
        timeout_s: float,
        read_again: ReadAgain,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._task = task
        self._context_headers = context_headers
        self._timeout_s = timeout_s
        self._read_again = read_again
        self.current: RawBatch | None = None

    def add(self, rows: list[BadRow]) -> None:
        """Send bad rows, each record once; they are durable after `flush`."""
        at_hand: list[BadRow] = []
        index_of = self._indices(rows[0])
        for row in {(row.topic, row.partition, row.offset): row for row in reversed(rows)}.values():
            if row.offset in index_of:
                at_hand.append(row)
            else:
                self._send([row], self._record(row))
        if at_hand:
            at_hand.reverse()
            assert self.current is not None
            self._send(at_hand, self.current.take([index_of[row.offset] for row in at_hand]))

    def flush(self, deadline: Deadline) -> None:
        """Return when every dead letter is acknowledged. RetriableError: the deadline passed first.

        Where Kafka refused a letter, the producer's error is raised: no letter is on its way any more, and that one is
        missing in the topic.
        """
        self._producer.flush(deadline)

    def close(self, timeout_s: float) -> None:
        """Release the producer."""
        self._producer.close(timeout_s)

    def _indices(self, row: BadRow) -> dict[int | None, int]:
        """Return where each offset is in the batch at hand; empty when that is another partition's."""
        source = self.current
        if source is None or source.offsets is None or (source.topic, source.partition) != (row.topic, row.partition):
            return {}
        return {offset: i for i, offset in enumerate(source.offsets.to_pylist())}

    def _record(self, row: BadRow) -> RawBatch:
        if row.partition is None or row.offset is None:
            raise ConnectError(f"No record is at hand for the dead letter of {row.place}.")
        place = TopicPartition(row.topic, row.partition)
        return self._read_again(place, row.offset, Deadline.after(self._timeout_s))

    def _send(self, rows: list[BadRow], originals: RawBatch) -> None:
        letters = RawBatch(
            topic=self._topic,
            values=originals.values,
            keys=originals.keys,
            headers=[
                [*(kept or ()), *(context(self._task, row) if self._context_headers else ())]
                for kept, row in zip(originals.headers or [()] * len(rows), rows, strict=True)
            ],
            timestamps_ms=originals.timestamps_ms,
        )
        self._producer.send(letters, Deadline.after(self._timeout_s))


def context(task: TaskId, row: BadRow) -> list[tuple[str, bytes | None]]:
    """Return the headers about a bad row's failure. Those of partition and offset are left out for a source's row."""
    texts = {
        "topic": row.topic,
        "partition": None if row.partition is None else str(row.partition),
        "offset": None if row.offset is None else str(row.offset),
        "connector.name": task.connector,
        "task.id": str(task.task),
        "stage": row.stage.value,
        "class.name": row.component,
        "exception.class.name": java_class(row.error),
        "exception.message": SECRET_TEXTS.hide(str(row.error)),
        "exception.stacktrace": SECRET_TEXTS.hide("".join(traceback.format_exception(row.error))),
    }
    return [(PREFIX + name, text.encode(errors="replace")) for name, text in texts.items() if text is not None]
