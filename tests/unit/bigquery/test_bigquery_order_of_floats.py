"""Checks an order that is a FLOAT: a record with NaN is smaller than one with a number, whichever was merged first.

DuckDB takes NaN for the largest number. BigQuery compares as Python does, so Python reads the text of the guard here.
"""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import pytest
from bigquery_single_records import make, service_of, write
from bigquery_sql import config

from connectors.bigquery.dedup.merge_sql import Merge
from connectors.bigquery.dedup.rules import DedupColumns, PathColumn
from connectors.bigquery.rows.paths import Path
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType, float_names

COLUMNS = (
    ColumnSchema("id", ColumnType.INTEGER),
    ColumnSchema("score", ColumnType.FLOAT),
    ColumnSchema("_kafka_offset", ColumnType.INTEGER),
)
ASCENDING = (None, math.nan, -math.inf, -0.5, 0.5, math.inf)
"""The values as BigQuery's ORDER BY sorts them."""


def is_distinct(one: Any, other: Any) -> bool:
    """Tell two values apart as DISTINCT of SQL does, to which all NaN are one value."""
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return not both_nan and one != other


def truth(sql: str, rows: dict[str, tuple[Any, int]]) -> bool:
    """Return what the text of a guard says of rows, each a score and an offset by its alias."""
    text = re.sub(r"(\w)\.`(\w+)`", r"\1_\2", sql)
    text = re.sub(r"(\w+) IS NOT DISTINCT FROM (\w+)", r"not is_distinct(\1, \2)", text)
    for words, python in (
        ("IS NOT NULL", "is not None"), ("IS NULL", "is None"), (" = ", " == "), ("<>", "!="), ("AND", "and"),
        ("OR", "or"),
    ):  # fmt: skip
        text = text.replace(words, python)
    names = {f"{alias}_score": score for alias, (score, _) in rows.items()}
    names |= {f"{alias}__kafka_offset": offset for alias, (_, offset) in rows.items()}
    return bool(eval(text, {"is_distinct": is_distinct}, names))


def guard() -> str:
    names = tuple(column.name for column in COLUMNS)
    merge = Merge("t", ("s",), names, ("id",), names[1:], frozenset(names), floats=float_names(COLUMNS))
    return merge.newer("S", "T")


@pytest.mark.parametrize(("one", "other"), list(product(ASCENDING, ASCENDING)))
def test_a_record_is_newer_exactly_if_it_sorts_behind(one, other):
    for offset in (0, 2):
        wanted = (ASCENDING.index(one), offset) > (ASCENDING.index(other), 1)
        assert truth(guard(), {"S": (one, offset), "T": (other, 1)}) is wanted


def test_the_view_of_a_log_has_the_same_guard():
    mode = config(mode="compact", order_by="score").mode
    dedup = DedupColumns(
        (PathColumn(Path.parse("id"), "id", is_own=False),),
        tuple(PathColumn(Path.parse("score"), name, is_own=False) for name in ("score", "_kafka_offset")),
    )

    class Names:
        def path(self, name: str) -> str:
            return f"`{name}`"

    (text,) = mode.views_beside("t", Names(), COLUMNS, dedup, {}).values()
    assert guard() in text


def test_each_merge_has_the_guard(monkeypatch):
    service = service_of(monkeypatch)
    make(service, id="INTEGER", score="FLOAT")
    write([({"id": 1}, {"id": 1, "score": 0.5})], **{"dedup.mode": "merge", "dedup.order.by": "score"})
    ((_, _, sql),) = [change for change in service.changed_by if change[0] == "orders"]
    assert '(T."score" <> T."score" AND S."score" = S."score")' in sql
