"""Tells which kind of value Debezium makes of each type of MySQL or MariaDB. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from connect.api import schema as s
from connectors.jdbc.debezium.binlog import moments, numbers, texts
from connectors.jdbc.debezium.binlog.declared_type import DeclaredType
from connectors.jdbc.debezium.binlog.kinds import BinlogKind, text, whole
from connectors.jdbc.debezium.shared.column_rules import TextColumn
from connectors.jdbc.debezium.shared.handling_modes import Handling

TEXTS: Final = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
BYTES: Final = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
SHAPES: Final = frozenset(
    {
        "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
        "geometrycollection",
    }
)  # fmt: skip
_WHOLE: Final[Mapping[str, tuple[s.Schema, s.Schema]]] = MappingProxyType(
    {
        "tinyint": (s.INT16, s.INT16), "smallint": (s.INT16, s.INT32), "mediumint": (s.INT32, s.INT32),
        "int": (s.INT32, s.INT64),
    }
)  # fmt: skip
"""Maps types of whole numbers to two schemas: for numbers with a sign, and for numbers without one."""
_Make = Callable[[DeclaredType, Handling], BinlogKind]
_MADE: Final[Mapping[str, _Make]] = MappingProxyType(
    {
        "decimal": lambda declared, handling: numbers.decimal(declared, handling.decimals),
        "float": lambda declared, _: numbers.floating(declared),
        "double": lambda *_: numbers.double(),
        "bit": lambda declared, _: numbers.bits(declared),
        "year": lambda _, handling: moments.year(handling),
        "date": lambda _, handling: moments.date(handling),
        "time": lambda declared, handling: moments.time(declared.size or 0, handling.times),
        "datetime": lambda declared, handling: moments.datetime(declared.size or 0, handling),
        "timestamp": lambda declared, _: moments.timestamp(declared.size or 0),
        "enum": lambda declared, _: texts.choice(declared.members, is_set=False),
        "set": lambda declared, _: texts.choice(declared.members, is_set=True),
        "json": lambda *_: texts.json(),
        "uuid": lambda *_: text("Uuid"),
        "point": lambda *_: texts.point(),
    }
)


def kind_of(declared: DeclaredType, handling: Handling) -> BinlogKind:
    """Return the kind of a type. An unknown type comes as the text that a query gives."""
    if declared.name == "bigint":
        return numbers.unsigned_bigint(handling.unsigned) if declared.unsigned else whole(s.INT64)
    if declared.name in _WHOLE:
        return whole(_WHOLE[declared.name][declared.unsigned])
    if declared.name in _MADE:
        return _MADE[declared.name](declared, handling)
    if declared.name in BYTES:
        return texts.binary(handling.binary)
    return texts.shape() if declared.name in SHAPES else text()


def text_column(declared: DeclaredType, kind: BinlogKind) -> TextColumn:
    """Return the facts about a type that the rules for columns need. `kind` is the kind of its values."""
    is_text = declared.name in {*TEXTS, "enum", "set"}
    return TextColumn(is_text, declared.size, comes_as_text=kind.schema.type is s.Type.STRING)
