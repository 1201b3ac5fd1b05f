"""Writes types that hold themselves: the JSON inside of the first value becomes a value of the format again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pyarrow as pa

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.json.decode import decode_columns
from connect.convert.json.read import Reading, reader
from connect.convert.json.recursive import texts_of
from connect.convert.json.text import Node, read_exact
from connect.convert.plain.columns import NotColumnarError

Written = TypeVar("Written")
_READING = Reading(embeds=True)


class RecursiveValues(Generic[Written]):
    """Writes JSON texts as values of the type they are inside of, each level in all rows that reach it."""

    def __init__(
        self, make: Callable[[], tuple[Schema, Callable[[pa.Array], Written]]], nothing: Written, path: str
    ) -> None:
        """Take `make`, which gives the type's own schema and what writes it; it is called when the first value comes.

        `nothing` is the result for no values.
        """
        self._make = make
        self._nothing = nothing
        self._made: tuple[Schema, Callable[[pa.Array], Written]] | None = None
        self._path = path

    def __call__(self, texts: pa.Array) -> Written:
        """Write the values, of which none is null.

        SchemaError when one does not fit the type, or holds more than it.
        """
        if not len(texts):
            return self._nothing
        if self._made is None:
            self._made = self._make()
        schema, write = self._made
        try:
            array = self._read(texts.cast(pa.binary()), schema)
            return write(array)
        except RecursionError:
            raise self._unfit("it is nested too deeply") from None

    def _read(self, texts: pa.BinaryArray, schema: Schema) -> pa.Array:
        try:
            array = _read(texts, schema)
        except RejectedRowsError as error:
            raise self._unfit(next(iter(error.rows.values()))) from error
        except SchemaError as error:
            raise self._unfit(error) from error
        self._check(texts.cast(pa.utf8()), texts_of(array, schema))
        return array

    def _check(self, given: pa.Array, read: pa.Array) -> None:
        """Check that what was read has all that was given, as a reader leaves out what its schema does not name."""
        if given.equals(read):
            return
        for text, again in zip(given.to_pylist(), read.to_pylist(), strict=True):
            if text != again and not _holds(read_exact(again.encode()), read_exact(text.encode())):
                raise self._unfit("it holds more than the type has a place for")

    def _unfit(self, why: object) -> SchemaError:
        return SchemaError(
            f"The value inside of a value of its own type does not fit that type: {why}", field=self._path,
            fix="Change the whole record no more than what is inside, or give it another name (SetSchemaMetadata): "
            "what is inside is then written as a text with its JSON.",
        )  # fmt: skip


def _read(texts: pa.BinaryArray, schema: Schema) -> pa.Array:
    try:
        return decode_columns(texts, schema, _READING)
    except (NotColumnarError, SchemaError):
        read = reader(schema, _READING)
        return Column.from_rows([read(_node(text)) for text in texts.to_pylist()], schema).arrow()


def _node(text: bytes) -> Node:
    try:
        return read_exact(text)
    except (ValueError, LookupError) as error:
        raise SchemaError(f"It is no JSON: {error}") from None


def _holds(whole: Any, part: Any) -> bool:
    """Tell if one JSON value holds all of another; a null may be left out."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(value is None or (name in whole and _holds(whole[name], value)) for name, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_holds, whole, part))
    return bool(whole == part)
