"""Describes the form that the values of a type have in Debezium's records, by one object for each kind. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type

Read = Callable[[pa.BinaryArray], pa.Array]
Unavailable = Callable[[str], object]


def _holds_none(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Kind:
    """Describes one kind of value.

    `read` makes Arrow values of the schema from PostgreSQL's texts; Misfit, ArrowException or ValueError: a text is no
    value. `absent` stands for a value that is not known and may not be null. `unavailable` makes, from the placeholder,
    the value that stands for a large one that an update left as it was, or None if the type can hold none. With
    `always_optional` the schema is optional even if the column is NOT NULL.
    """

    schema: s.Schema
    read: Read
    absent: object
    unavailable: Unavailable = _holds_none
    always_optional: bool = False

    def named(self, name: str, version: int = 1) -> Kind:
        """Return this kind under the name of a semantic type."""
        return replace(self, schema=replace(self.schema, name=name, version=version))


def placeholder(text: str) -> object:
    """Return the placeholder as it is."""
    return text


def strings(values: pa.BinaryArray) -> pa.Array:
    """Return texts as they are."""
    return values.cast(pa.string())


def by_value(schema: s.Schema, convert: Callable[[str], object]) -> Read:
    """Return a reader that converts each distinct text once. It is meant for types that are rare or small."""
    target = arrow_type(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        texts = values.cast(pa.string())
        distinct = pc.unique(texts.drop_null())
        made = pa.array([convert(text) for text in distinct.to_pylist()], target)
        if not len(distinct):
            return pa.nulls(len(texts), target)
        return made.take(pc.index_in(texts, distinct))

    return read


TEXT = Kind(s.STRING, strings, "", placeholder)
