"""Converts row by row, and names the rows that cannot be converted. All row paths use this loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from connect.api.errors import RejectedRowsError, SchemaError


def each(rows: Iterable[Any], convert: Callable[[Any], Any]) -> list[Any]:
    """Return every row converted, None kept. RejectedRowsError names the rows that `convert` cannot take."""
    converted: list[Any] = []
    rejected: dict[int, Exception] = {}
    for index, row in enumerate(rows):
        try:
            converted.append(None if row is None else convert(row))
        except SchemaError as error:
            rejected[index] = error
        except RecursionError:
            rejected[index] = SchemaError("The value is nested too deeply.")
    if rejected:
        raise RejectedRowsError(rejected)
    return converted
