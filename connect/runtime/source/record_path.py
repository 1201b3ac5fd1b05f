"""Polls a source and turns its rows into records; rows that no record can hold become dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from connect.api.connector import SourceTask
from connect.api.errors import RetriableError
from connect.api.records import Batch, batches_of
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.records.pipeline import Encoded, SourcePipeline
from connect.runtime.records.retry import RetryBudget, TopicNotJudgedError
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.task.task_metrics import TaskFigures


@dataclass(slots=True)
class SourceRecordPath:
    """Polls a source and encodes its rows. Dead letters of rows that the source gave up name `task_class`.

    `rejected` keeps the letters of those rows until the batch is sent whose position is behind them (invariant 3).
    """

    task: SourceTask
    task_class: str
    pipeline: SourcePipeline
    tolerance: Tolerance
    retries: RetryBudget
    figures: TaskFigures
    rejected: list[RawBatch] = field(default_factory=list, init=False)

    def poll(self, deadline: Deadline) -> Sequence[Batch]:
        """Return the batches of one poll, which are sent together."""
        with self.figures.timed("poll_s_total"):
            unit = batches_of(self.task.poll(deadline))
        if unit:
            rows = sum(map(len, unit))
            self.figures.measure("batch_rows", rows)
            self._saw(rows)
        return unit

    def encode(self, batch: Batch) -> Encoded:
        """Return a batch as records. Raise RetriableError while what it needs is away, RetriesOverError in the end."""
        with self.figures.timed("convert_s_total"):
            try:
                encoded = self.pipeline.encode(batch)
            except TopicNotJudgedError:
                raise
            except RetriableError as error:
                self.retries.failed(error, f"A batch for topic {batch.topic}")
                raise
        self.retries.succeeded()
        return encoded

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows of which the source says that no record can hold them."""
        self._saw(len(rows))
        self.rejected += self.pipeline.reject(self.task_class, batch, rows)

    def _saw(self, rows: int) -> None:
        self.figures.add("polled_rows_total", rows)
        self.tolerance.saw(rows)
