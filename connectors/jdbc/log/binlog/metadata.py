"""Reads what a table map says of columns beside their type numbers, most of it with binlog_row_metadata=FULL. Pure.

Source: MySQL's source documentation of Table_map_event ("optional metadata fields"); MariaDB writes the same
since 10.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.dialects import mysql as m
from sqlalchemy.types import LargeBinary, TypeEngine

from connect.api.errors import SchemaError
from connectors.jdbc.log.binlog.values import BLOB, ENUM, JSON, SET, STRING

_UNSIGNED, _DEFAULT_COLLATION, _COLLATIONS, _NAMES, _SETS, _ENUMS = range(1, 7)
_KEY, _KEY_OF_PREFIXES, _MEMBERS_DEFAULT_COLLATION, _MEMBERS_COLLATIONS = 8, 9, 10, 11
_VARCHAR, _VAR_STRING, _GEOMETRY = 15, 253, 255
_NUMERIC = {1, 2, 3, 4, 5, 8, 9, 13, 246}
"""These are the type numbers for which the log tells if the column has a sign; YEAR is among them."""
_BINARY = frozenset({63, "binary"})
"""A column of bytes, which is no text, has one of these as its collation."""


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """Describes a table's columns. Each is known by its index in `names`.

    `collations` holds a collation's number or a character set's name. `members` are those of ENUM and SET, as text or
    as bytes in the column's collation. `key` is the primary key. `kinds` are the types' names, which no log tells.
    """

    names: tuple[str, ...]
    unsigned: frozenset[int] = frozenset()
    collations: Mapping[int, int | str] = field(default_factory=dict)
    members: Mapping[int, tuple[bytes | str, ...]] = field(default_factory=dict)
    key: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metadata:
    """Holds what follows the type numbers in a table map. `unsigned` and `told` are None where the log lacks them."""

    nullable: tuple[bool, ...] = ()
    unsigned: frozenset[int] | None = None
    told: ColumnMetadata | None = None


def read_metadata(content: bytes, kinds: Sequence[int], metas: Sequence[bytes]) -> Metadata:
    """Read what follows the columns' type numbers (`kinds`) in a table map."""
    bits = (len(kinds) + 7) // 8
    nulls = int.from_bytes(content[:bits], "little")
    nullable = tuple(bool(nulls >> i & 1) for i in range(len(kinds)))
    fields = dict(_fields(content[bits:]))
    unsigned = _unsigned(fields, kinds) if _UNSIGNED in fields else None
    return Metadata(nullable, unsigned, _told(fields, kinds, metas) if _NAMES in fields else None)


def _unsigned(fields: Mapping[int, bytes], kinds: Sequence[int]) -> frozenset[int]:
    numbers = [i for i, kind in enumerate(kinds) if kind in _NUMERIC]
    signs = fields.get(_UNSIGNED, b"")
    return frozenset(
        i for place, i in enumerate(numbers) if place // 8 < len(signs) and signs[place // 8] >> (7 - place % 8) & 1
    )


def _told(fields: Mapping[int, bytes], kinds: Sequence[int], metas: Sequence[bytes]) -> ColumnMetadata:
    stored = [
        meta[0] if kind == STRING and meta[0] in {ENUM, SET} else kind for kind, meta in zip(kinds, metas, strict=True)
    ]
    texts = [i for i, kind in enumerate(stored) if kind in {_VARCHAR, _VAR_STRING, STRING, BLOB}]
    choices = [i for i, kind in enumerate(stored) if kind in {SET, ENUM}]
    members: dict[int, tuple[bytes | str, ...]] = {}
    for kind, number in ((SET, _SETS), (ENUM, _ENUMS)):
        lists = _lists(fields.get(number, b""))
        members |= dict(zip((i for i, of in enumerate(stored) if of == kind), lists, strict=False))
    return ColumnMetadata(
        tuple(name.decode() for name in _strings(fields[_NAMES])),
        _unsigned(fields, kinds),
        {
            **_collations(fields, texts, _DEFAULT_COLLATION, _COLLATIONS),
            **_collations(fields, choices, _MEMBERS_DEFAULT_COLLATION, _MEMBERS_COLLATIONS),
        },
        members,
        _key(fields),
    )


def column_type(kind: int, meta: bytes, number: int, told: ColumnMetadata) -> TypeEngine[Any]:
    """Return the type of a column by the log alone, as the catalog may lack it now. SchemaError: it is unknown here."""
    if kind in _INTEGERS:
        return _INTEGERS[kind](unsigned=number in told.unsigned)
    made = _TYPES.get(kind)
    if made is not None:
        return made(meta)
    if kind == STRING and meta[0] in {ENUM, SET}:
        # The names of the members do not matter to the schema.
        return m.VARCHAR(255)
    if kind in {_VARCHAR, _VAR_STRING, STRING, BLOB}:
        return LargeBinary() if told.collations.get(number, "binary") in _BINARY else m.LONGTEXT()
    raise SchemaError(
        f"The log holds a value of type {kind}, which is not known here.",
        field=told.names[number],
        fix="Leave the table out.",
    )


_INTEGERS = {1: m.TINYINT, 2: m.SMALLINT, 9: m.MEDIUMINT, 3: m.INTEGER, 8: m.BIGINT}
_TYPES: Mapping[int, Callable[[bytes], TypeEngine[Any]]] = {
    4: lambda _meta: m.FLOAT(),
    5: lambda _meta: m.DOUBLE(),
    10: lambda _meta: m.DATE(),
    13: lambda _meta: m.YEAR(),
    14: lambda _meta: m.DATE(),
    16: lambda meta: m.BIT(meta[1] * 8 + meta[0]),
    17: lambda meta: m.TIMESTAMP(fsp=meta[0]),
    18: lambda meta: m.DATETIME(fsp=meta[0]),
    19: lambda meta: m.TIME(fsp=meta[0]),
    246: lambda meta: m.DECIMAL(meta[0], meta[1]),
    JSON: lambda _meta: m.JSON(),
    _GEOMETRY: lambda _meta: LargeBinary(),
}


def number_at(content: bytes, at: int) -> tuple[int, int]:
    """Return a number stored in one to nine bytes, and the index behind it."""
    first = content[at]
    if first < 0xFB:
        return first, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(content[at + 1 : at + 1 + size], "little"), at + 1 + size


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(content):
        size, start = number_at(content, at + 1)
        yield content[at], content[start : start + size]
        at = start + size


def _numbers(content: bytes) -> list[int]:
    found, at = [], 0
    while at < len(content):
        number, at = number_at(content, at)
        found.append(number)
    return found


def _strings(content: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(content):
        size, at = number_at(content, at)
        found.append(content[at : at + size])
        at += size
    return found


def _lists(content: bytes) -> Iterator[tuple[bytes, ...]]:
    at = 0
    while at < len(content):
        count, at = number_at(content, at)
        made = []
        for _ in range(count):
            size, at = number_at(content, at)
            made.append(content[at : at + size])
            at += size
        yield tuple(made)


def _collations(fields: Mapping[int, bytes], columns: Sequence[int], of_most: int, of_each: int) -> dict[int, int]:
    """Return the number of the collation by column.

    `of_most`, `of_each`: the numbers of the fields that hold one for most columns, or one for each.
    """
    if of_each in fields:
        return dict(zip(columns, _numbers(fields[of_each]), strict=False))
    if of_most not in fields:
        return {}
    default, *pairs = _numbers(fields[of_most])
    others = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return {column: others.get(place, default) for place, column in enumerate(columns)}


def _key(fields: Mapping[int, bytes]) -> tuple[int, ...]:
    if _KEY_OF_PREFIXES in fields:
        return tuple(_numbers(fields[_KEY_OF_PREFIXES])[::2])
    return tuple(_numbers(fields.get(_KEY, b"")))
