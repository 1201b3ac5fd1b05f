"""Makes the rows of one task from their numbers. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from connect.api import schema as s
from connect.api.records import Batch, Column
from connectors.samples.numbered.config import SchemaSourceConfig, VerifiableSourceConfig

_WHOLE: Final = s.struct({"name": s.STRING, "task": s.INT32, "topic": s.STRING, "time_ms": s.INT64, "seqno": s.INT64})
_TYPES: Final = {
    "boolean": s.BOOLEAN, "int": s.INT32, "long": s.INT64, "float": s.FLOAT32, "double": s.FLOAT64,
    "partitioning": s.INT32,
}  # fmt: skip
_NUMBERS: Final = {"id": s.INT32, "seqno": s.INT64}
_FIRST: Final = replace(s.struct({**_TYPES, **_NUMBERS}, name="record"), version=1)
_SECOND: Final = replace(
    s.struct({**_TYPES, "string": replace(s.STRING, default="abc"), **_NUMBERS}, name="record"), version=2
)
_SAME: Final = {"boolean": True, "int": 12, "long": 12, "float": 12.2, "double": 12.2}


class MakesRows(Protocol):
    """Makes rows of one kind."""

    def batches(self, numbers: Sequence[int], made: int) -> Sequence[Batch]:
        """Return the rows of these numbers in order. `made`: how many were made since the task started."""


class VerifiableRows:
    """Makes rows that are their numbers, with the task as their key."""

    def __init__(self, config: VerifiableSourceConfig, connector: str, task: int) -> None:
        self._config, self._connector, self._task = config, connector, task

    def batches(self, numbers: Sequence[int], made: int) -> Sequence[Batch]:
        """Return one batch."""
        del made
        keys = Column.from_rows([self._task] * len(numbers), s.INT32)
        if not self._config.whole:
            return [Batch(self._config.topic, Column.from_rows(list(numbers), s.INT64), keys=keys)]
        same = {
            "name": self._connector, "task": self._task, "topic": self._config.topic,
            "time_ms": time.time_ns() // 1_000_000,
        }  # fmt: skip
        values = Column.from_rows([{**same, "seqno": number} for number in numbers], _WHOLE)
        return [Batch(self._config.topic, values, keys=keys)]


class SchemaRows:
    """Makes rows of several types, in the partition that has the task's number."""

    def __init__(self, config: SchemaSourceConfig, task: int) -> None:
        self._config, self._task = config, task

    def batches(self, numbers: Sequence[int], made: int) -> Sequence[Batch]:
        """Return one batch, or one for each row where every other has another schema."""
        if not self._config.several_schemas:
            return [self._batch([self._row(number) for number in numbers], _FIRST)]
        return [
            self._batch([self._row(number)], _FIRST)
            if (made + at) % 2 == 0
            else self._batch([{**self._row(number), "string": "def"}], _SECOND)
            for at, number in enumerate(numbers)
        ]

    def _row(self, number: int) -> dict[str, Any]:
        return {**_SAME, "partitioning": number % self._config.partitions, "id": self._task, "seqno": number}

    def _batch(self, rows: list[dict[str, Any]], schema: s.Schema) -> Batch:
        keys = Column.from_rows(["key"] * len(rows), s.STRING)
        return Batch(self._config.topic, Column.from_rows(rows, schema), keys=keys, partition=self._task)
