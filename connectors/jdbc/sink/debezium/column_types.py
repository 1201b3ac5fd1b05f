"""Chooses the types of new columns as Debezium's sink does, where they differ from those of the other JDBC sinks. Pure.

Source: the dialects of debezium-connector-jdbc 3.6. A type that a database lacks here is the engine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql as my
from sqlalchemy.dialects import postgresql as pg

from connect.api import schema as s
from connect.api.time_types import TIME_TYPES
from connectors.jdbc.dialects.known import family
from connectors.jdbc.sink.debezium import source_columns as source
from connectors.jdbc.sink.debezium.geometry import POINT, SHAPES, Shape
from connectors.jdbc.sink.debezium.source_columns import column_type, second_digits
from connectors.jdbc.sink.debezium.value_forms import ANY_LENGTH, BITS, DURATION, VARIABLE
from connectors.jdbc.sink.shape import Member

_Type = sa.types.TypeEngine[Any]
_DATA: Final = "io.debezium.data."
_PRECISION: Final = 38
"""Decimals whose schema tells no number of digits get so many."""


def _times(names: tuple[str, ...], kind: _Type) -> dict[str, _Type]:
    return {str(TIME_TYPES[name].name): kind for name in names}


def _fine(names: tuple[str, ...], kind: Callable[[int], _Type]) -> dict[str, Callable[[s.Schema], _Type | None]]:
    """Return types that have as many digits of a second as the source's column."""
    every = [str(TIME_TYPES[name].name) if name in TIME_TYPES else name for name in names]
    return dict.fromkeys(every, lambda schema: kind(second_digits(schema)))


@dataclass(frozen=True, slots=True)
class NewColumns:
    """Holds the types of one database, by the names of types in schemas; some are made of the schema.

    `by_source` are types by the type of the source's column, for fields whose schema has no name that is known here.
    """

    types: Mapping[str, _Type]
    made: Mapping[str, Callable[[s.Schema], _Type | None]]
    by_source: Mapping[str, source.Made] = field(default_factory=dict)
    unsigned: _Type | None = None
    """Holds the type for columns that are an unsigned BIGINT at the source, whatever their fields are."""

    def of(self, member: Member) -> _Type | None:
        """Return the type of a new column, or None if the engine's own choice is right."""
        schema = member.schema
        if self.unsigned is not None and column_type(schema) in source.UNSIGNED:
            return self.unsigned
        named = self._known(schema.name or "", schema)
        if named is not None:
            return named
        return source.made(self.by_source, member) or (None if schema.name else self._known(schema.type, schema))

    def _known(self, name: str, schema: s.Schema) -> _Type | None:
        return self.made[name](schema) if name in self.made else self.types.get(name)


def column_types(url: str) -> NewColumns:
    """Return the types of a URL's database."""
    return _TYPES.get(family(url), NewColumns({}, {}))


def _decimal(schema: s.Schema) -> _Type:
    digits = int(schema.parameters.get(s.PRECISION_PARAMETER, _PRECISION))
    return sa.NUMERIC(max(digits, schema.decimal_scale), schema.decimal_scale)


def _allowed(schema: s.Schema) -> list[str]:
    return schema.parameters.get("allowed", "").split(",")


_CLOCKS: Final = ("Time", "MicroTime", "NanoTime", s.TIME)
_WALLS: Final = ("Timestamp", "MicroTimestamp", "NanoTimestamp", s.TIMESTAMP)
_UUID: Final = f"{_DATA}Uuid"


def _postgres_bits(schema: s.Schema) -> _Type:
    length = int(schema.parameters.get("length", ANY_LENGTH))
    if length == ANY_LENGTH:
        return pg.BIT(varying=True)
    return pg.BIT(length, varying=column_type(schema) == "VARBIT")


def _postgres_array(schema: s.Schema) -> _Type | None:
    """Return an array of UUIDs; the engine knows arrays of other types."""
    return pg.ARRAY(pg.UUID()) if schema.items is not None and schema.items.name == _UUID else None


_POSTGRES: Final = NewColumns(
    {
        **_times(("Date",), sa.DATE()), DURATION: pg.INTERVAL(), VARIABLE: sa.DOUBLE_PRECISION(), _UUID: pg.UUID(),
        f"{_DATA}Xml": Shape("XML"), POINT: Shape("POINT"),
    },
    {
        **_fine(_CLOCKS, lambda digits: pg.TIME(precision=digits)),
        **_fine(_WALLS, lambda digits: pg.TIMESTAMP(precision=digits)),
        **_fine(("ZonedTimestamp",), lambda digits: pg.TIMESTAMP(timezone=True, precision=digits)),
        **_fine(("ZonedTime",), lambda digits: pg.TIME(timezone=True, precision=digits)),
        s.DECIMAL: _decimal, BITS: _postgres_bits, s.Type.ARRAY: _postgres_array,
        f"{_DATA}Json": lambda schema: pg.JSONB() if column_type(schema) == "JSONB" else pg.JSON(),
    },
    source.POSTGRES,
)  # fmt: skip
_MYSQL: Final = NewColumns(
    {
        **_times(("Date",), sa.DATE()), **_times(("Year",), my.YEAR()), VARIABLE: my.DOUBLE(),
        f"{_DATA}Json": my.JSON(), s.Type.BOOLEAN: my.TINYINT(1), **dict.fromkeys(SHAPES, Shape("GEOMETRY")),
        POINT: Shape("POINT"),
    },
    {
        **_fine(_CLOCKS, lambda digits: my.TIME(fsp=digits)), **_fine(_WALLS, lambda digits: my.DATETIME(fsp=digits)),
        **_fine(("ZonedTimestamp",), lambda digits: my.TIMESTAMP(fsp=digits)),
        **_fine(("ZonedTime",), lambda digits: my.TIME(fsp=digits)),
        s.DECIMAL: _decimal, BITS: lambda schema: my.BIT(int(schema.parameters.get("length", 64))),
        f"{_DATA}Enum": lambda schema: my.ENUM(*_allowed(schema)),
        f"{_DATA}EnumSet": lambda schema: my.SET(*_allowed(schema)),
    },
    source.MYSQL,
    my.BIGINT(unsigned=True),
)  # fmt: skip
_MARIADB: Final = replace(_MYSQL, types={**_MYSQL.types, f"{_DATA}Json": my.LONGTEXT()})
_TYPES: Final = {"postgresql": _POSTGRES, "mysql": _MYSQL, "mariadb": _MARIADB}
