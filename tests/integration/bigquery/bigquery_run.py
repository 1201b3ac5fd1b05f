"""Drives a life of the sink's task as the framework does, without Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from bigquery_oracle import Message, batch_of
from e2e_worker import wait_for

from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector


class Life:
    """Holds a task from open to close or crash. `claimed` is what flush returned last; `bad` has the refused rows by
    place.
    """

    def __init__(self, settings: Mapping[str, str], *, task: int = 0, tasks: int = 1) -> None:
        connector = BigQuerySinkConnector(BigQuerySinkConfig.parse(settings))
        self.task = connector.task(connector.task_configs(tasks)[task])
        self.context = FakeSinkContext(task=task)
        self.claimed: dict[TopicPartition, int] = {}
        self.bad: dict[tuple[str, int, int], Exception] = {}
        self.refused: Mapping[int, Exception] = {}
        self.warnings: list[str] = []
        self.ends: dict[TopicPartition, int] = {}
        self.task.open(self.context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.task.close()

    def put(self, messages: Sequence[Message]) -> None:
        batch = batch_of(messages)
        for row, reason in self.take(batch).items():
            message = messages[row]
            self.bad[message.topic, message.partition, message.offset] = reason

    def take(self, batch: Batch) -> Mapping[int, Exception]:
        """Put a batch, wait until its table is ready, and return the rows that are bad."""
        assert batch.consumed is not None
        self.ends[batch.consumed.topic_partition] = batch.consumed.next_offset
        wait_for(lambda: self._taken(batch), 60, f"put of {len(batch)} records")
        known, opened = len(self.context.rejected), self.task._opened
        assert opened is not None

        def is_ready() -> bool:
            self.task._take_ready(Deadline.after(30))
            return not opened.first_records.are_waiting

        wait_for(is_ready, 60, lambda: f"a table for {batch.topic}: {list(opened.first_records.failures)}")
        places = {offset: row for row, offset in enumerate(batch.consumed.offsets.to_pylist())}
        late = {places[one.record.offset]: one.reason for one in self.context.rejected[known:]}
        del self.context.rejected[known:]
        return {**self.refused, **late}

    def _taken(self, batch: Batch) -> bool:
        """Put the batch once; return False if nothing was taken, so that the same batch has to come again."""
        self.refused = {}
        try:
            self.task.put(batch, Deadline.after(30))
        except RejectedRowsError as error:
            self.refused = error.rows
        except RetriableError as error:
            self.warnings.append(str(error))
            return False
        return True

    def flush(self) -> None:
        try:
            self.claimed |= self.task.flush(Deadline.after(5))
        except RetriableError as error:
            self.warnings.append(str(error))

    def settle(self, timeout_s: float = 120.0) -> None:
        """Flush until everything that was put is claimed."""

        def look() -> bool:
            self.flush()
            return all(self.claimed.get(tp, 0) >= end for tp, end in self.ends.items())

        wait_for(look, timeout_s, lambda: f"claims of {len(self.ends)} partitions; {self.warnings[-3:]}")


def rows_by_key(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what identifies each row: its id, its text and the place of its record."""
    return [(row["id"], row["text"], row["_kafka_partition"], row["_kafka_offset"]) for row in rows]


def model_by_key(model: Mapping[int, Message]) -> list[tuple[Any, ...]]:
    return [(key, model[key].text, model[key].partition, model[key].offset) for key in sorted(model)]
