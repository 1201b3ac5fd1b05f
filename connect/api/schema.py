"""This module defines Kafka Connect's type system. It holds values only: no I/O, no Arrow, no JSON.

Source: org.apache.kafka.connect.data.{Schema,SchemaBuilder,Decimal,Date,Time,Timestamp} of Kafka 4.1.

The Python form of each type is: bool, int, float, str, bytes, list, dict (map and struct), and for the logical types
`decimal.Decimal`, `datetime.date`, `datetime.time` (naive), `datetime.datetime` (UTC, aware).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

LOGICAL = "org.apache.kafka.connect.data."
DECIMAL, DATE, TIME, TIMESTAMP = (LOGICAL + n for n in ("Decimal", "Date", "Time", "Timestamp"))
RECURSIVE = "connect.data.Recursive"
"""A schema of this name is a text that stands for a value of the type that encloses it, see `recursive`."""
PRECISION_PARAMETER = "connect.decimal.precision"
"""This parameter of a Decimal schema holds the total number of digits, as Confluent's connectors write it."""
_SCALE_MAX: Final = 10_000
"""A Decimal may have a scale of this size at most: its text writes that many digits out, and with a scale of 2**31 a
record of a few bytes would fill the memory.
"""
_EMPTY: Mapping[str, str] = MappingProxyType({})


class Type(StrEnum):
    """The twelve base types; the text is Java's `Schema.Type` in lower case, with `float32` and `float64` spelt out."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True)
class Field:
    """Holds a named member of a struct; its index in the struct is its place among the fields."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """Holds a Connect schema, which describes a value. It is immutable.

    `fields` is for structs, `items` for arrays and the values of maps, `keys` for the keys of maps. `default` is in the
    Python form; None means no default, as a null default cannot be told apart in Java either. Equality is by value over
    all members, `doc` included, as Java's ConnectSchema.equals.
    """

    type: Type
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] = field(default_factory=lambda: _EMPTY, hash=False)
    default: object = field(default=None, hash=False)
    fields: tuple[Field, ...] = ()
    items: Schema | None = None
    keys: Schema | None = None

    def __post_init__(self) -> None:
        if self.type in (Type.ARRAY, Type.MAP) and self.items is None:
            raise ValueError(f"A schema of type {self.type} needs `items`.")
        if self.type is Type.MAP and self.keys is None:
            raise ValueError("A schema of type map needs `keys`.")
        names = [f.name for f in self.fields]
        if len(set(names)) != len(names):
            twice = sorted({n for n in names if names.count(n) > 1})
            raise ValueError(f"Field names must be unique in a struct; twice: {twice}.")

    @cached_property
    def field_index(self) -> Mapping[str, int]:
        """Return the place of each field by its name."""
        return {f.name: i for i, f in enumerate(self.fields)}

    def field(self, name: str) -> Schema | None:
        """Return the schema of a struct's field, or None when there is no such field."""
        index = self.field_index.get(name)
        return None if index is None else self.fields[index].schema

    def as_optional(self, optional: bool = True) -> Schema:
        """Return the same schema, nullable or not."""
        return self if self.optional == optional else replace(self, optional=optional)

    @property
    def decimal_scale(self) -> int:
        """Return the scale of a Decimal schema. ValueError when the schema carries none, or one of too many digits."""
        scale = self.parameters.get("scale")
        if scale is None:
            raise ValueError("A Decimal schema needs the parameter 'scale'.")
        if abs(int(scale)) > _SCALE_MAX:
            raise ValueError(f"A Decimal has a scale of {-_SCALE_MAX} to {_SCALE_MAX}.")
        return int(scale)


def struct(
    fields: Mapping[str, Schema] | Iterable[Field], *, name: str | None = None, optional: bool = False
) -> Schema:
    """Return a struct schema of the fields in their order."""
    members = (Field(n, s) for n, s in fields.items()) if isinstance(fields, Mapping) else fields
    return Schema(Type.STRUCT, optional=optional, name=name, fields=tuple(members))


def array(items: Schema, *, optional: bool = False) -> Schema:
    """Return an array schema."""
    return Schema(Type.ARRAY, optional=optional, items=items)


def map_of(keys: Schema, items: Schema, *, optional: bool = False) -> Schema:
    """Return a map schema."""
    return Schema(Type.MAP, optional=optional, keys=keys, items=items)


def decimal(scale: int, *, precision: int | None = None, optional: bool = False) -> Schema:
    """Return Connect's Decimal: unscaled big-endian bytes; the scale is part of the type."""
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters[PRECISION_PARAMETER] = str(precision)
    return Schema(Type.BYTES, optional=optional, name=DECIMAL, version=1, parameters=MappingProxyType(parameters))


def recursive(type_name: str, *, optional: bool = False) -> Schema:
    """Return the schema of a text that stands in a type that contains itself for the inner value.

    The text is the inner value as JSON without a schema (Decimals in base64), however deep it goes. No table and no
    columnar file can hold a type that contains itself, but a text fits everywhere, and a JSON converter writes the
    value itself in its place. `type_name` names the type in the format that it comes from.
    """
    parameters = MappingProxyType({"type": type_name})
    return Schema(Type.STRING, optional=optional, name=RECURSIVE, version=1, parameters=parameters)


INT8, INT16, INT32, INT64 = (Schema(t) for t in (Type.INT8, Type.INT16, Type.INT32, Type.INT64))
FLOAT32, FLOAT64 = Schema(Type.FLOAT32), Schema(Type.FLOAT64)
BOOLEAN, STRING, BYTES = Schema(Type.BOOLEAN), Schema(Type.STRING), Schema(Type.BYTES)
DATE_SCHEMA = Schema(Type.INT32, name=DATE, version=1)
TIME_SCHEMA = Schema(Type.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA = Schema(Type.INT64, name=TIMESTAMP, version=1)
