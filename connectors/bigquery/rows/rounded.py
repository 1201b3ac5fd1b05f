"""Finds Decimals that lose digits in a FLOAT column, as `decimalHandlingMode=FLOAT` makes it for the Java connector."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema, ColumnType, by_name

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS: Final = 15
"""A FLOAT tells any two numbers of so many digits apart, and gives each back as it was."""


def may_round(schema: s.Schema, columns: Columns) -> bool:
    """Return True if values of a schema have Decimals and a table with these columns has a FLOAT, at any depth."""
    return _has_decimals(schema) and _has_floats(columns)


def rounded_fields(
    values: pa.Array, schema: s.Schema, column: ColumnSchema, path: str, known: Container[str]
) -> Iterator[str]:
    """Yield the path of each Decimal of a field that loses digits in its column, or in a member of that; those that are
    `known` are left out.
    """
    import pyarrow.compute as pc

    if schema.type is s.Type.ARRAY and schema.items is not None:
        yield from rounded_fields(values.flatten(), schema.items, column, path, known)
    elif schema.type is s.Type.MAP and schema.items is not None:
        member = by_name(column.fields).get("value")
        if member is not None:
            yield from rounded_fields(values.items, schema.items, member, f"{path}.value", known)
    elif schema.type is s.Type.STRUCT:
        members = by_name(column.fields)
        for number, field in enumerate(schema.fields):
            member = members.get(field.name.lower())
            if member is not None and _has_decimals(field.schema):
                inner = pc.struct_field(values, number)
                yield from rounded_fields(inner, field.schema, member, f"{path}.{field.name}", known)
    elif schema.name == s.DECIMAL and column.type is ColumnType.FLOAT and path not in known and _loses(values):
        yield path


def _loses(decimals: pa.Array) -> bool:
    """Return True if a Decimal has more digits than a FLOAT keeps, but for the zeros before and behind them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_decimal(decimals.type):
        return False
    ends = [abs(end.as_py()) for end in pc.min_max(decimals).values() if end.is_valid]
    if not ends or max(ends).scaleb(decimals.type.scale) < 10**_DIGITS:  # as most are, without a look at each
        return False
    digits = pc.replace_substring_regex(decimals.cast(pa.string()), "E.*|[.-]", "")
    longest: int = pc.max(pc.utf8_length(pc.utf8_rtrim(pc.utf8_ltrim(digits, "0"), "0"))).as_py()
    return longest > _DIGITS


def _has_decimals(schema: s.Schema) -> bool:
    if schema.name == s.DECIMAL:
        return True
    inner = [*(field.schema for field in schema.fields or ()), *(one for one in (schema.keys, schema.items) if one)]
    return any(map(_has_decimals, inner))


def _has_floats(columns: Columns) -> bool:
    return any(column.type is ColumnType.FLOAT or _has_floats(column.fields) for column in columns)
