"""Bounds the keys of staged rows by literals, so that BigQuery reads few blocks of a table clustered by a key. Pure.

A row that a MERGE looks for has the same key, so a bound that holds all staged keys leaves none out. Few keys are
listed; more numbers and dates are a range. Texts have no range, as a column may sort them by a collation of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from connectors.bigquery.rows.quoting import literal
from connectors.bigquery.rows.table_schema import Columns, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

LISTED_MOST: Final = 100
_TEXT_MOST: Final = 2_000
"""Listed values have so many characters at most: they stand in a staging table's description, which takes 16,384."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_RANGED: Final = frozenset({ColumnType.INTEGER, ColumnType.DATE})
_LOOKED_AT: Final = 10_000
"""So many rows at a time are looked at for distinct keys."""


class KeyBound(NamedTuple):
    """Says what a column of the key holds in some rows. `type` is a ColumnType.

    `values` are all its values, or with `is_range` the least and the greatest. Dates are texts, as 2026-01-31.
    """

    column: str
    type: str
    values: Sequence[int | str]
    is_range: bool

    def sql(self, column: str) -> str:
        """Return SQL that is true where `column` (quoted) has such a value."""
        literals = list(map(self._literal, self.values))
        if self.is_range:
            return f"{column} BETWEEN {literals[0]} AND {literals[1]}"
        return f"{column} IN ({', '.join(literals)})"

    def _literal(self, value: int | str) -> str:
        if isinstance(value, int):
            return str(value)
        return f"DATE {literal(value)}" if self.type == ColumnType.DATE else literal(value)


def key_bounds(tables: Sequence[pa.Table], columns: Columns, keys: Iterable[str]) -> tuple[KeyBound, ...]:
    """Return the bounds of those columns of the key that can have one, over all rows of some tables."""
    import pyarrow as pa

    types = {column.name: column.type for column in columns}
    found: list[KeyBound] = []
    for key in keys:
        kind = types.get(key)
        if kind in _RANGED or kind is ColumnType.STRING:
            values = pa.chunked_array([chunk for table in tables for chunk in table[key].chunks])
            found += _bound(key, kind, values)
    return tuple(found)


def ranged_keys(columns: Columns, keys: Iterable[str]) -> list[str]:
    """Return those columns of the key whose least and greatest value bound them."""
    types = {column.name: column.type for column in columns}
    return [key for key in keys if types.get(key) in _RANGED]


def bounds_of(row: Mapping[str, Any], ranged: Sequence[str]) -> tuple[KeyBound, ...]:
    """Return the bounds of a batch of a log, by the row that the query of `LogParts.batches` gives for it."""
    found = []
    for number, key in enumerate(ranged):
        least, most = row[f"least_{number}"], row[f"most_{number}"]
        if isinstance(least, int):
            found.append(KeyBound(key, ColumnType.INTEGER, (least, most), is_range=True))
        elif least is not None:
            found.append(KeyBound(key, ColumnType.DATE, (least.isoformat(), most.isoformat()), is_range=True))
    return tuple(found)


def united(bounds: Sequence[Sequence[KeyBound]]) -> tuple[KeyBound, ...]:
    """Return bounds that hold for several batches together, for the columns that each of them has a bound for."""
    if not bounds:
        return ()
    of_column = [{bound.column: bound for bound in batch} for batch in bounds]
    names = [name for name in of_column[0] if all(name in batch for batch in of_column)]
    return tuple(part for name in names for part in _joined([batch[name] for batch in of_column]))


def _bound(column: str, kind: ColumnType, values: pa.ChunkedArray) -> Iterable[KeyBound]:
    import pyarrow.compute as pc

    listed = _few(values)
    if listed is not None:
        shown = listed.cast("string") if kind is ColumnType.DATE else listed
        yield from _listed(column, kind, shown.to_pylist()) if len(shown) else ()
    elif kind in _RANGED:
        ends = pc.min_max(values).as_py()
        least, most = ends["min"], ends["max"]
        if kind is ColumnType.DATE:
            least, most = least.isoformat(), most.isoformat()
        yield KeyBound(column, kind, (least, most), is_range=True)


def _few(values: pa.ChunkedArray) -> pa.Array | None:
    """Return the distinct values but for null; None if there are more than can be listed. Then it looks at few rows."""
    import pyarrow as pa

    found = pa.array([], values.type)
    for chunk in values.chunks:
        for start in range(0, len(chunk), _LOOKED_AT):
            part = chunk.slice(start, _LOOKED_AT).unique().drop_null()
            found = pa.concat_arrays([found, part]).unique()
            if len(found) > LISTED_MOST:
                return None
    return found


def _joined(bounds: Sequence[KeyBound]) -> Iterable[KeyBound]:
    column, kind = bounds[0].column, ColumnType(bounds[0].type)
    values = {value for bound in bounds for value in bound.values}
    if len(values) <= LISTED_MOST and not any(bound.is_range for bound in bounds):
        yield from _listed(column, kind, values)
    elif kind in _RANGED:
        yield KeyBound(column, kind, _ends(values), is_range=True)


def _listed(column: str, kind: ColumnType, values: Iterable[Any]) -> Iterable[KeyBound]:
    listed = sorted(values)
    # The text of a statement ends at a NUL, and other such characters are no better. Without a bound all rows are read.
    if any(isinstance(value, str) and _CONTROL.search(value) for value in listed):
        return
    if sum(len(str(value)) for value in listed) <= _TEXT_MOST:
        yield KeyBound(column, kind, tuple(listed), is_range=False)
    elif kind in _RANGED:
        yield KeyBound(column, kind, _ends(listed), is_range=True)


def _ends(values: Iterable[Any]) -> tuple[Any, Any]:
    ordered = sorted(values)
    return ordered[0], ordered[-1]
