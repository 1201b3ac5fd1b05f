"""Broken sources that go wrong where columns change or there are several topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kit_table import TableConnector, TableSource

from connect.api.records import Batch


class SkipsRowsAtAChangeTask(TableSource):
    """Takes the new columns when they change, and forgets the rows by which it saw that."""

    columns: frozenset[str] = frozenset()

    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        columns = frozenset(rows[0])
        has_changed = bool(self.columns) and columns != self.columns
        self.columns = columns
        return super().batch([] if has_changed else rows)


class LosesOtherTopicsTask(TableSource):
    """Moves on behind the rows of another topic that it read with those of its own."""

    def of_one_topic(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        own = super().of_one_topic(rows)
        return [*own[:-1], {**own[-1], "tie": rows[-1]["tie"], "id": rows[-1]["id"]}]


class MixesTopicsTask(TableSource):
    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        return replace(super().batch(rows), topic="rows")


class SkipsRowsAtAChange(TableConnector):
    task_class = SkipsRowsAtAChangeTask


class LosesOtherTopics(TableConnector):
    task_class = LosesOtherTopicsTask


class MixesTopics(TableConnector):
    task_class = MixesTopicsTask
