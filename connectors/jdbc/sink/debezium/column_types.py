"""Chooses the types of new columns as Debezium's sink does, where they differ from those of the other JDBC sinks. Pure.

Source: the dialects of debezium-connector-jdbc 3.6. A type that a database lacks here is the engine's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql as my
from sqlalchemy.dialects import postgresql as pg

from connect.api import schema as s
from connect.api.time_types import TIME_TYPES
from connectors.jdbc.dialects.known import family
from connectors.jdbc.sink.debezium.value_forms import ANY_LENGTH, BITS, DURATION, VARIABLE
from connectors.jdbc.sink.shape import Member

_Type = sa.types.TypeEngine[Any]
_DATA: Final = "io.debezium.data."
_PRECISION: Final = 38
"""Decimals whose schema tells no number of digits get so many."""


def _times(names: tuple[str, ...], kind: _Type) -> dict[str, _Type]:
    return {str(TIME_TYPES[name].name): kind for name in names}


@dataclass(frozen=True, slots=True)
class NewColumns:
    """Holds the types of one database, by the names of types in schemas; some are made of the schema."""

    types: Mapping[str, _Type]
    made: Mapping[str, Callable[[s.Schema], _Type]]

    def of(self, member: Member) -> _Type | None:
        """Return the type of a new column, or None if the engine's own choice is right."""
        name = member.schema.name or member.schema.type
        return self.made[name](member.schema) if name in self.made else self.types.get(name)


def column_types(url: str) -> NewColumns:
    """Return the types of a URL's database."""
    return _TYPES.get(family(url), NewColumns({}, {}))


def _decimal(schema: s.Schema) -> _Type:
    digits = int(schema.parameters.get(s.PRECISION_PARAMETER, _PRECISION))
    return sa.NUMERIC(max(digits, schema.decimal_scale), schema.decimal_scale)


def _bits(schema: s.Schema) -> _Type:
    length = int(schema.parameters.get("length", ANY_LENGTH))
    return pg.BIT(varying=True) if length == ANY_LENGTH else pg.BIT(length)


def _allowed(schema: s.Schema) -> list[str]:
    return schema.parameters.get("allowed", "").split(",")


_CLOCKS, _WALLS = ("Time", "MicroTime", "NanoTime"), ("Timestamp", "MicroTimestamp", "NanoTimestamp")
_POSTGRES: Final = NewColumns(
    {
        **_times(("Date",), sa.DATE()), **_times(_CLOCKS, pg.TIME(precision=6)), s.TIME: pg.TIME(precision=6),
        **_times(_WALLS, pg.TIMESTAMP(precision=6)), s.TIMESTAMP: pg.TIMESTAMP(precision=6),
        **_times(("ZonedTimestamp",), pg.TIMESTAMP(timezone=True, precision=6)),
        **_times(("ZonedTime",), pg.TIME(timezone=True, precision=6)), DURATION: pg.INTERVAL(),
        VARIABLE: sa.DOUBLE_PRECISION(), f"{_DATA}Uuid": pg.UUID(), f"{_DATA}Json": pg.JSON(),
    },
    {s.DECIMAL: _decimal, BITS: _bits},
)  # fmt: skip
_MYSQL: Final = NewColumns(
    {
        **_times(("Date",), sa.DATE()), **_times(_CLOCKS, my.TIME(fsp=6)), s.TIME: my.TIME(fsp=6),
        **_times(_WALLS, my.DATETIME(fsp=6)), s.TIMESTAMP: my.DATETIME(fsp=6),
        **_times(("ZonedTimestamp",), my.TIMESTAMP(fsp=6)), **_times(("ZonedTime",), my.TIME(fsp=6)),
        **_times(("Year",), my.YEAR()), VARIABLE: my.DOUBLE(), f"{_DATA}Json": my.JSON(),
        s.Type.BOOLEAN: my.TINYINT(1),
    },
    {
        s.DECIMAL: _decimal, BITS: lambda schema: my.BIT(int(schema.parameters.get("length", 64))),
        f"{_DATA}Enum": lambda schema: my.ENUM(*_allowed(schema)),
        f"{_DATA}EnumSet": lambda schema: my.SET(*_allowed(schema)),
    },
)  # fmt: skip
_MARIADB: Final = NewColumns({**_MYSQL.types, f"{_DATA}Json": my.LONGTEXT()}, _MYSQL.made)
_TYPES: Final = {"postgresql": _POSTGRES, "mysql": _MYSQL, "mariadb": _MARIADB}
