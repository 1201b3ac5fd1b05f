"""Holds broken sources that fail if columns change or if there are several topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kit_table import TableConnector, TableSource

from connect.api.records import Batch


class SkipsRowsAtAChangeTask(TableSource):
    """Uses new columns once it sees them, but forgets the rows in which it saw them."""

    columns: frozenset[str] = frozenset()

    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        columns = frozenset(rows[0])
        has_changed = bool(self.columns) and columns != self.columns
        self.columns = columns
        return super().batch([] if has_changed else rows)


class LosesOtherTopicsTask(TableSource):
    """Goes on behind rows of another topic that it has read together with its own."""

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
