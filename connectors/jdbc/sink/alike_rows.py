"""Finds rows without a schema that have the same fields. Pure.

The columns of a batch are those of all of its rows. A field that a row lacks would be null there, and NULL would
replace the value that the table has, or the column's default, only because of the rows beside it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from connect.api.records import Column

if TYPE_CHECKING:
    import pyarrow as pa

Fields = frozenset[str]


def fields_of(values: Column) -> list[Fields] | None:
    """Return the names of the fields of each row, or None if no row lacks a field that another one has.

    A record that is no struct, as one without a value, counts as having the fields of the row before it.
    """
    if values.schema is not None or values.is_whole:
        return None
    rows = values.rows()
    own = next((frozenset(row) for row in rows if isinstance(row, dict)), frozenset())
    found = []
    for row in rows:
        own = frozenset(row) if isinstance(row, dict) else own
        found.append(own)
    return found if len(set(found)) > 1 else None


def may_be_gathered(fields: Sequence[Fields], keys: pa.Table) -> bool:
    """Return True if all rows of a key have the same fields, so that their order is kept if rows are gathered by their
    fields.
    """
    own: dict[tuple[Hashable, ...], Fields] = {}
    columns = [column.to_pylist() for column in keys.columns]
    return all(own.setdefault(key, has) == has for key, has in zip(zip(*columns, strict=True), fields, strict=True))


def alike(fields: Sequence[Fields], *, gathers: bool) -> list[list[int]]:
    """Return the numbers of rows that have the same fields: gathered from all rows, or else only as long as they follow
    each other.
    """
    numbers = range(len(fields))
    if not gathers:
        return [list(run) for _, run in groupby(numbers, fields.__getitem__)]
    found: dict[Fields, list[int]] = {}
    for number in numbers:
        found.setdefault(fields[number], []).append(number)
    return list(found.values())
