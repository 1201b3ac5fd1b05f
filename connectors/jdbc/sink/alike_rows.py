"""Finds rows without a schema that have the same fields. Pure.

The columns of a batch are those of all of its rows. A field that a row lacks would be null there, and NULL would
replace the value that the table has, or the column's default, only because of the rows beside it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from connect.api.records import Column

if TYPE_CHECKING:
    import pyarrow as pa

Fields = frozenset[str]


def fields_of(values: Column, written: Fields | None = None) -> list[Fields] | None:
    """Return the names of the fields of each row, or None if no row lacks a field that another one has.

    A record that is no struct, as one without a value, counts as having the fields of the row before it. Only the
    fields `written` count, or all fields if it is None.
    """
    if values.schema is not None or values.is_whole:
        return None
    rows = values.rows()
    names = [frozenset(row) if isinstance(row, dict) else None for row in rows]
    if written is not None:
        names = [None if has is None else has & written for has in names]
    own = next((has for has in names if has is not None), frozenset())
    found = []
    for has in names:
        own = own if has is None else has
        found.append(own)
    return found if len(set(found)) > 1 else None


def alike(fields: Sequence[Fields]) -> list[list[int]]:
    """Return the numbers of rows that have the same fields, gathered from all rows."""
    return _gathered([(0, has) for has in fields])


def alike_in_turn(fields: Sequence[Fields]) -> list[list[int]]:
    """Return the numbers of rows that follow each other and have the same fields."""
    return [list(run) for _, run in groupby(range(len(fields)), fields.__getitem__)]


def alike_by_key(fields: Sequence[Fields], keys: pa.Table) -> list[list[int]]:
    """Return the numbers of rows that have the same fields, gathered so that rows of one key keep their order.

    A row goes into a later group only if the row before it of the same key has other fields. So there are as many
    rounds of groups as the fields of one key change, and not as those of rows beside each other do.
    """
    last: dict[tuple[Hashable, ...], tuple[int, Fields]] = {}
    rounds = []
    for key, has in zip(zip(*(column.to_pylist() for column in keys.columns), strict=True), fields, strict=True):
        number, before = last.get(key, (0, has))
        last[key] = (number + (before != has), has)
        rounds.append(last[key])
    return _gathered(rounds)


def _gathered(rounds: Sequence[tuple[int, Fields]]) -> list[list[int]]:
    found: dict[tuple[int, Fields], list[int]] = {}
    for number, one in enumerate(rounds):
        found.setdefault(one, []).append(number)
    return [found[one] for one in sorted(found, key=itemgetter(0))]
