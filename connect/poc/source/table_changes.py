"""Applies changes that a source's tables may undergo to the rows that it gives; no table is touched. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from connect.api import schema as s
from connect.api.records import Column
from connect.api.schema import Schema, Type

ADDED: Final = "connect_poc_added"
_ENVELOPE: Final = ("before", "after")
"""Each of these fields of Debezium's envelope contains a row of the table."""
_WIDER: Final[Mapping[Type, tuple[Type, object]]] = {
    Type.INT8: (Type.INT64, 2**62), Type.INT16: (Type.INT64, 2**62), Type.INT32: (Type.INT64, 2**62),
    Type.FLOAT32: (Type.FLOAT64, 1e300),
}  # fmt: skip
"""Maps a narrow type to the type that its columns are widened to, and to a value that only the wide type holds."""
Fields = dict[str, Schema]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """Describes a change of a table.

    `what` names it. `fields` and `row` apply it to the columns and to a row of the table. `shows` tells if a row that
    came out has the change. `breaks` says that readers of the old columns lack one, so that a registry refuses it
    rightly.
    """

    what: str
    fields: Callable[[Fields], Fields]
    row: Callable[[Row], Row]
    shows: Callable[[Row], bool]
    breaks: bool = False
    must_show: bool = False
    """If this is True and a row does not show the change, the row has another value than its table: data are lost."""


def changes_of(table: Schema, keys: Collection[str]) -> Iterator[Change]:
    """Yield the changes that a table with these columns may undergo. No change removes a column of `keys`.

    A registry that gets the changes in this order has to accept each of them after those before it.
    """
    yield Change(
        f"a column more ({ADDED})", lambda fields: {**fields, ADDED: s.STRING.as_optional()},
        lambda row: {**row, ADDED: "added"}, lambda row: row.get(ADDED) == "added",
    )  # fmt: skip
    yield from (_widened(name, column) for name, column in _first_narrow(table))
    last = next((one.name for one in reversed(table.fields) if one.name not in keys), None)
    if last is None or len(table.fields) < 2:
        return
    other = f"{last}_renamed"
    yield Change(
        f"a column less ({last})", lambda fields: _renamed(fields, last, None),
        lambda row: _renamed(row, last, None), lambda row: last not in row, breaks=True,
    )  # fmt: skip
    yield Change(
        f"a renamed column ({last})", lambda fields: _renamed(fields, last, other),
        lambda row: _renamed(row, last, other), lambda row: other in row and last not in row, breaks=True,
    )  # fmt: skip


def table_of(schema: Schema) -> Schema | None:
    """Return the schema of the table's rows, which may be inside of the values' schema; None if the values have no
    columns.
    """
    inner = next((schema.field(name) for name in reversed(_ENVELOPE) if schema.field(name) is not None), None)
    found = schema if inner is None else inner
    return found if found.type is Type.STRUCT and found.fields else None


def changed(values: Column, change: Change) -> Column:
    """Return the values that the source would give after the change."""
    assert values.schema is not None
    rows = [None if row is None else _in_envelope(values.schema, row, change.row) for row in values.rows()]
    return Column.from_rows(rows, _changed_schema(values.schema, change))


def shown_in(row: Mapping[str, Any], change: Change) -> bool:
    """Tell if a row that came out of transforms and converters shows the change, itself or inside an envelope."""
    return any(change.shows(dict(part)) for part in (row.get("after"), row) if isinstance(part, Mapping))


def _changed_schema(schema: Schema, change: Change) -> Schema:
    if not _is_envelope(schema):
        return _with_fields(schema, change)
    fields = {
        one.name: _with_fields(one.schema, change) if one.name in _ENVELOPE else one.schema for one in schema.fields
    }
    return replace(schema, fields=s.struct(fields).fields)


def _with_fields(table: Schema, change: Change) -> Schema:
    fields = {one.name: one.schema for one in table.fields}
    return replace(table, fields=s.struct(change.fields(fields)).fields)


def _in_envelope(schema: Schema, row: Row, one_row: Callable[[Row], Row]) -> Row:
    if not _is_envelope(schema):
        return one_row(row)
    return {
        name: one_row(dict(part)) if name in _ENVELOPE and isinstance(part, Mapping) else part
        for name, part in row.items()
    }


def _is_envelope(schema: Schema) -> bool:
    return table_of(schema) is not schema


def _first_narrow(table: Schema) -> Iterator[tuple[str, Schema]]:
    narrow = ((one.name, one.schema) for one in table.fields if one.schema.type in _WIDER and one.schema.name is None)
    for found in narrow:
        yield found
        return


def _widened(name: str, column: Schema) -> Change:
    wider, value = _WIDER[column.type]
    return Change(
        f"a wider column ({name})",
        lambda fields: {**fields, name: replace(fields[name], type=wider, default=None)},
        lambda row: {**row, name: value}, lambda row: row.get(name, value) == value,
        must_show=True,
    )  # fmt: skip


def _renamed(members: dict[str, Any], old: str, new: str | None) -> dict[str, Any]:
    """Return the members with one of them renamed in its place, or left out if `new` is None."""
    return {
        new if name == old and new is not None else name: value
        for name, value in members.items()
        if name != old or new is not None
    }
