"""Reads types that hold themselves: values inside of the first one become JSON, see `connect.api.schema.recursive`."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from connect.api.arrow_rows import rows_from_arrow
from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connect.convert.json.encode import encode_columns
from connect.convert.json.java_text import json_string
from connect.convert.json.write import Writing, writer
from connect.convert.plain.columns import NotColumnarError

if TYPE_CHECKING:
    from connect.convert.vectors.cursor import Cursor

    Decoder = Callable[[Cursor], pa.Array]

MAX_LEVELS: Final = 100
"""Types may be nested as deep as Protobuf's own readers go; each level is some frames of Python's stack."""
_TOO_DEEP: Final = f"it holds values of its own type more than {MAX_LEVELS} levels deep"


class RecursiveTexts:
    """Reads values of a type that holds itself as JSON texts. Owned by one task thread.

    Each level is read in all rows that reach it, by the columns, and written before the one that holds it.
    """

    def __init__(self, make: Callable[[], tuple[Schema, Decoder]]) -> None:
        """Take `make`, which gives the type's own schema and what reads it; it is called when the first value comes."""
        self._make = make
        self._made: tuple[Schema, Decoder] | None = None
        self._level = 0

    def __call__(self, cursor: Cursor) -> pa.StringArray:
        """Return the next value of every row; rows that are nested too deeply fail."""
        if not len(cursor):
            return pa.array([], pa.utf8())
        if self._level == MAX_LEVELS:
            return _failed(cursor)
        if self._made is None:
            self._made = self._make()
        schema, read = self._made
        self._level += 1
        try:
            return texts_of(read(cursor), schema)
        except RecursionError:  # a level may consist of several nested collections
            return _failed(cursor)
        finally:
            self._level -= 1


def _failed(cursor: Cursor) -> pa.StringArray:
    cursor.fail_all(_TOO_DEEP)
    return pa.repeat(pa.scalar("null"), len(cursor))


def texts_of(array: pa.Array, schema: Schema) -> pa.StringArray:
    """Return each value as its JSON text. Values inside of it are written into the text, not as texts of their own."""
    writing = Writing(embeds=True)
    try:
        return encode_columns(array, schema, writing).cast(pa.utf8())
    except NotColumnarError:
        write = writer(schema, writing)
        return pa.array([write(row) for row in rows_from_arrow(array)], pa.utf8())


def node_text(node: object, path: str) -> str:
    """Return parsed JSON as its text. SchemaError when it is nested too deeply."""
    try:
        return _text(node)
    except RecursionError:
        raise SchemaError("The JSON is nested too deeply.", field=path) from None


def _text(node: object) -> str:
    match node:
        case dict():
            return "{" + ",".join([f"{json_string(name)}:{_text(member)}" for name, member in node.items()]) + "}"
        case list():
            return "[" + ",".join([_text(item) for item in node]) + "]"
        case Decimal():
            return str(node)
        case str():
            return json_string(node)
    return json.dumps(node)
