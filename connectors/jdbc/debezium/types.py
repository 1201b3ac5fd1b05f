"""Tells which kind of value Debezium makes of each type of PostgreSQL. Pure."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from connect.api import schema as s
from connectors.jdbc.debezium import geometry, moments, numbers, texts
from connectors.jdbc.debezium.arrays import array
from connectors.jdbc.debezium.catalog_types import CatalogType
from connectors.jdbc.debezium.kinds import TEXT, Kind, Unavailable
from connectors.jdbc.debezium.shared.column_rules import TextColumn
from connectors.jdbc.debezium.shared.handling_modes import Handling
from connectors.jdbc.values.types import Raw

_TEXTS: Final = (
    "char", "bpchar", "varchar", "text", "name", "citext", "inet", "cidr", "macaddr", "macaddr8", "int4range",
    "int8range", "numrange", "tsrange", "tstzrange", "daterange", "isbn", "isbn13", "issn", "issn13", "ismn",
    "ismn13", "ean13", "upc",
)  # fmt: skip
_FIXED: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        **geometry.KINDS,
        **dict.fromkeys(_TEXTS, TEXT),
        "bool": numbers.plain(Raw.BOOLEAN, s.BOOLEAN, absent=False),
        "int2": numbers.plain(Raw.INTEGER, s.INT16, 0),
        "int4": numbers.plain(Raw.INTEGER, s.INT32, 0),
        "int8": numbers.plain(Raw.INTEGER, s.INT64, 0),
        "oid": numbers.plain(Raw.INTEGER, s.INT64, 0),
        "float4": numbers.plain(Raw.FLOAT, s.FLOAT32, 0.0),
        "float8": numbers.plain(Raw.FLOAT, s.FLOAT64, 0.0),
        "uuid": texts.semantic("Uuid"),
        "json": texts.semantic("Json"),
        "jsonb": texts.semantic("Json"),
        "xml": texts.semantic("Xml"),
        "ltree": texts.semantic("Ltree"),
        "tsvector": texts.semantic("Tsvector"),
        "timetz": moments.zoned_time(),
    }
)
_Make = Callable[[int, Handling], Kind]
_BY_MODIFIER: Final[Mapping[str, _Make]] = MappingProxyType(
    {
        "numeric": lambda modifier, handling: numbers.numeric(modifier, handling.decimals),
        "money": lambda _, handling: numbers.money(handling.decimals, handling.money_digits),
        "bit": lambda modifier, _: numbers.bits(modifier),
        "varbit": lambda modifier, _: numbers.bits(modifier),
        "bytea": lambda _, handling: texts.binary(handling.binary),
        "hstore": lambda _, handling: texts.hstore(handling.hstores),
        "date": lambda _, handling: moments.date(handling.times),
        "time": lambda modifier, handling: moments.time(_digits(modifier), handling.times),
        "timestamp": lambda modifier, handling: moments.timestamp(_digits(modifier), handling.times),
        "timestamptz": lambda modifier, _: moments.zoned_timestamp(_digits(modifier)),
        "interval": lambda _, handling: moments.interval(handling.intervals),
    }
)
_CUT: Final[Mapping[str, int | None]] = MappingProxyType(
    {"char": 1, "bpchar": None, "varchar": None, "text": None, "name": None}
)
"""Maps types that JDBC takes for texts to their lengths, or to None if the type's name alone does not tell the length.
"""
_HEADER_SIZE: Final = 4
"""A modifier of a text type is the length plus this number, which PostgreSQL adds for the header."""
_NO_ITEMS: Final = frozenset({"interval", "money", "xml", *geometry.KINDS})
"""Debezium leaves out arrays of these types."""


def kind_of(found: CatalogType, handling: Handling) -> Kind | None:
    """Return the kind of a type, or None if records leave out columns of this type (see include.unknown.datatypes)."""
    if found.item is not None:
        return _array_of(found, found.item, handling)
    if found.base is not None:
        return kind_of(found.base, handling)
    if found.category == "e":
        return texts.enum(found.labels)
    if found.name in _FIXED:
        return _FIXED[found.name]
    if found.name in _BY_MODIFIER:
        return _BY_MODIFIER[found.name](found.modifier, handling)
    return texts.unknown(handling.binary) if handling.unknown else None


def text_column(found: CatalogType, kind: Kind) -> TextColumn:
    """Return the facts about a type that the rules for columns need. `kind` is the kind of its values."""
    if found.base is not None:
        return text_column(found.base, kind)
    is_text = found.category == "e" or found.name in _CUT
    has_length = found.name in {"varchar", "bpchar"} and found.modifier >= _HEADER_SIZE
    length = found.modifier - _HEADER_SIZE if has_length else _CUT.get(found.name)
    return TextColumn(is_text, length, comes_as_text=kind.schema.type is s.Type.STRING)


def _array_of(found: CatalogType, item: CatalogType, handling: Handling) -> Kind | None:
    if item.base is not None and handling.unknown:
        return array(texts.unknown(handling.binary), optional_items=False, unavailable=lambda _: None)
    if item.base is not None or item.name in _NO_ITEMS:
        return None
    if item.name in {"bit", "varbit"}:
        return numbers.bits_in_arrays(found.modifier)
    # An array's modifier is that of its items.
    one = kind_of(CatalogType(item.name, found.modifier, item.category, item.labels), handling)
    known = item.category == "e" or item.name in _FIXED or item.name in _BY_MODIFIER
    if one is None or not known:
        return None
    return array(one, optional_items=item.category != "e", unavailable=_unavailable(item.name, one))


def _unavailable(name: str, item: Kind) -> Unavailable:
    """Return the function that makes the value by which Debezium replaces an array that an update did not change.

    For most types of items it returns None.
    """
    is_plain = item.schema.type is not s.Type.STRING and item.schema.name != s.DATE
    if name in {"int4", "int8", "date"} and is_plain:
        return lambda text: list(text.encode())
    if name in {"text", "varchar", "bpchar", "json", "jsonb"} or (name == "bytea" and item.schema.type is s.Type.BYTES):
        return lambda text: [item.unavailable(text)]
    if name == "uuid":
        return lambda text: [
            str(uuid.UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest(), version=3))
        ]
    return lambda _: None


def _digits(modifier: int) -> int:
    return 6 if modifier < 0 else modifier
