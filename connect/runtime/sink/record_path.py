"""What a record goes through before a sink has it, and where it ends when the sink cannot take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect.api.connector import SinkTask
from connect.api.records import Batch
from connect.runtime.records.dead_letter import DeadLetters
from connect.runtime.records.pipeline import SinkPipeline, bad_sink_rows
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Stage, Tolerance


@dataclass(frozen=True, slots=True)
class SinkRecordPath:
    """Holds what a sink's records go through. Dead letters of rows that the sink gave up name its `task_class`."""

    task: SinkTask
    task_class: str
    pipeline: SinkPipeline
    tolerance: Tolerance
    retries: RetryBudget
    dead_letters: DeadLetters | None = None

    def refused(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Give up rows that the sink refused, in put or after it returned. Raise where they are not tolerated."""
        self.tolerance.give_up(bad_sink_rows(Stage.TASK_PUT, self.task_class, batch, rows))
