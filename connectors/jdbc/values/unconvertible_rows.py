"""Finds the rows that no record can hold, one by one, in columns that could not be made as a whole. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, SourcePosition
from connectors.jdbc.values.byte_fields import Fields

Mask = npt.NDArray[np.bool_]
T = TypeVar("T")
R = TypeVar("R")
Values: TypeAlias = "Sequence[Any] | pa.Array | Fields"
"""Holds a column in the form that a driver, an Arrow reader or a packet of the server gives."""


@dataclass(frozen=True, slots=True)
class BadCell:
    """Says why a row is bad. `text` is the value of `column` that does not fit, as text."""

    error: SchemaError
    column: str
    text: str | None


BadCells = dict[int, BadCell]
"""Holds the bad cells that were found, by the number of the row."""
BadItems = dict[int, SchemaError]
"""Holds why rows or changes are bad, by their numbers."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """Holds a bad row: all its columns as text, by their names, and why it is bad."""

    texts: Mapping[str, str | None]
    error: SchemaError


@dataclass(frozen=True, slots=True)
class BadRows:
    """Holds bad rows of one table as `SourceContext.reject` takes them, with `reasons` by their numbers in `batch`."""

    batch: Batch
    reasons: Mapping[int, Exception]

    @classmethod
    def of(
        cls, rows: Sequence[BadRow], topic: str, name: str | None, key: Sequence[str], position: SourcePosition | None
    ) -> BadRows:
        """Make bad rows of these; `name` is the table's, and `key` names the columns that tell which row it is."""
        columns = dict.fromkeys(column for row in rows for column in row.texts)
        schema = s.struct((s.Field(column, s.STRING.as_optional()) for column in columns), name=name)
        values = Column.from_rows([dict.fromkeys(columns) | dict(row.texts) for row in rows], schema)
        return cls(Batch(topic, values, position=position), {i: _named(row, key) for i, row in enumerate(rows)})


def _named(row: BadRow, key: Sequence[str]) -> SchemaError:
    which = ", ".join(f"{column}={row.texts[column]}" for column in key if column in row.texts)
    if not which:
        return row.error
    return SchemaError(f"{row.error.message} It is the row with {which}.", fix=row.error.fix)


def without_misfits(values: Values, name: str, make: Callable[[Any], pa.Array], bad: BadCells) -> pa.Array:
    """Return what `make` makes of a column. Values that do not fit become null and are noted in `bad`.

    SchemaError: the values fit one by one, but not together.
    """
    try:
        return make(values)
    except SchemaError:
        found = dict(_misfits(values, make, 0))
    for row, error in found.items():
        bad.setdefault(row, BadCell(error, name, text_of(values, row)))
    return make(_nulled(values, found))


def _misfits(values: Values, make: Callable[[Any], pa.Array], first: int) -> Iterator[tuple[int, SchemaError]]:
    try:
        make(values)
    except SchemaError as error:
        middle = len(values) // 2
        if not middle:
            yield first, error
            return
        yield from _misfits(values[:middle], make, first)
        yield from _misfits(values[middle:], make, first + middle)


def without_bad(item: T, count: int, take: Callable[[T, Mask], T], make: Callable[[T], R]) -> tuple[R | None, BadItems]:
    """Return what `make` makes of the good rows or changes among `count`, and why the others are bad.

    The first is None if none is good. `take` returns those that a mask selects.
    """
    try:
        return make(item), {}
    except SchemaError as error:
        if count == 1:
            return None, {0: error}
    bad: BadItems = {}
    for some in np.array_split(np.arange(count), 2):
        of_some = np.isin(np.arange(count), some)
        _, found = without_bad(take(item, of_some), len(some), take, make)
        bad |= {int(some[place]): error for place, error in found.items()}
    good = ~np.isin(np.arange(count), list(bad))
    return (make(take(item, good)) if good.any() else None), bad


def _nulled(values: Values, rows: Mapping[int, object]) -> Values:
    if isinstance(values, Fields):
        return values.without(rows)
    if isinstance(values, pa.Array):
        mask = pa.array([i in rows for i in range(len(values))], pa.bool_())
        return pc.if_else(mask, pa.scalar(None, values.type), values)
    return [None if i in rows else value for i, value in enumerate(values)]


def text_of(values: Values, row: int) -> str | None:
    """Return one value of a column as text; bytes that are no UTF-8 become hexadecimal digits."""
    if isinstance(values, Fields):
        return _decoded(values.octets(row))
    if isinstance(values, pa.Array):
        one = values[row : row + 1]
        if not pa.types.is_binary(one.type) and not pa.types.is_large_binary(one.type):
            one = one.cast(pa.string())
        return _decoded(one[0].as_py())
    return _decoded(values[row])


def _decoded(value: object) -> str | None:
    if not isinstance(value, bytes | bytearray | memoryview):
        return None if value is None else str(value)
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return bytes(value).hex()


def bad_row(columns: Mapping[str, Values], row: int, cell: BadCell) -> BadRow:
    """Return a row of these columns as text, with the error of its bad cell."""
    texts = {name: cell.text if name == cell.column else text_of(values, row) for name, values in columns.items()}
    return BadRow(texts, cell.error)
