"""Converts a column where a few rows have no form: the others are converted, and those are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from connect.api.errors import SchemaError
from connect.api.records import Column

T = TypeVar("T")


def good_parts(column: Column, convert: Callable[[Column], T]) -> tuple[list[T], dict[int, Exception]]:
    """Return what `convert` makes of the column, in parts and in order, and the errors of rows that it refuses.

    There is one part if it refuses no row. It refuses rows by SchemaError, which need not name them: each is then tried
    alone.
    """
    try:
        return [convert(column)], {}
    except SchemaError:
        parts: list[T] = []
        bad: dict[int, Exception] = {}
    for row in range(len(column)):
        try:
            parts.append(convert(_row(column, row)))
        except SchemaError as error:
            bad[row] = error
    return parts, bad


def good_values(
    column: Column, convert: Callable[[Column], Sequence[T | None]]
) -> tuple[list[T | None], dict[int, Exception]]:
    """Return what `convert` makes of each row, None for those that it refuses, and the errors of these."""
    parts, bad = good_parts(column, convert)
    made = (value for part in parts for value in part)
    return [None if row in bad else next(made) for row in range(len(column))], bad


def good_rows(column: Column | None, length: int) -> tuple[list[Any], dict[int, Exception]]:
    """Return the Python form of each row, and the errors of those that have none, such as an instant after the year
    9999. A column that is None has `length` nulls.
    """
    return ([None] * length, {}) if column is None else good_values(column, Column.rows)


def _row(column: Column, row: int) -> Column:
    # A slice may make its rows from those of the whole column, which one bad row prevents.
    if column.schema is not None and column.is_arrow:
        return Column.from_arrow(column.arrow().slice(row, 1), column.schema)
    return column.slice(row, row + 1)
