"""Reflected column type -> Connect schema and the family of values the driver gives. Pure.

The table is JDBC's, as Confluent's GenericDatabaseDialect maps it. Where a database cannot promise the narrow type
that a name suggests (SQLite), the wide one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import types as t
from sqlalchemy.dialects.postgresql import DOMAIN

from connect.api import schema as s


class Raw(StrEnum):
    """What a driver's values of a column are, before they become Arrow."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    WALL_CLOCK = "wall clock"
    INSTANT = "instant"


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """One column: how its values come, and the Connect schema they leave with.

    `cast_to_text`: SQL turns the value into text, because the driver's own form would lose something.
    """

    name: str
    raw: Raw
    schema: s.Schema
    cast_to_text: bool = False


@dataclass(frozen=True, slots=True)
class TypeRules:
    """What the configuration and the database say about types. `dialect` is SQLAlchemy's name of it."""

    dialect: str
    numeric: str = "none"
    granularity: str = "connect_logical"
    special_dates: str = "fail"


def plan_column(name: str, kind: t.TypeEngine[Any], nullable: bool, rules: TypeRules) -> ColumnPlan:
    """The plan of one reflected column."""
    raw, schema, cast = _classify(kind, rules)
    no_date = rules.special_dates == "null" and raw in {Raw.DATE, Raw.WALL_CLOCK, Raw.INSTANT}
    return ColumnPlan(name, raw, schema.as_optional(nullable or no_date), cast)


def value_schema(name: str, columns: Sequence[ColumnPlan]) -> s.Schema:
    """The schema of a row: a struct with the bare table name."""
    return s.struct((s.Field(c.name, c.schema) for c in columns), name=name)


def timestamp_schema(granularity: str) -> s.Schema:
    """The schema of a timestamp for a timestamp.granularity."""
    if granularity == "connect_logical":
        return s.TIMESTAMP_SCHEMA
    return s.INT64 if granularity.endswith("_long") else s.STRING


_Class = tuple[Raw, s.Schema, bool]


def _classify(kind: t.TypeEngine[Any], rules: TypeRules) -> _Class:
    match kind:
        case t.Boolean():
            return Raw.BOOLEAN, s.BOOLEAN, False
        case t.Integer():
            return Raw.INTEGER, _integer(kind, rules.dialect), False
        case t.Float() | t.REAL() | t.DOUBLE():
            return Raw.FLOAT, _float(kind, rules.dialect), False
        case t.Numeric():
            return _numeric(kind, rules)
        case t.Date():
            return Raw.DATE, s.DATE_SCHEMA, False
        case t.DateTime():
            return _date_time(kind, rules)
        # SQLite keeps times as text of the writer's choice; the Java driver passes them on as text, too.
        case t.Time():
            return (Raw.TEXT, s.STRING, False) if rules.dialect == "sqlite" else _time(kind)
        case t.JSON() | t.Uuid() | t.Enum():
            return Raw.TEXT, s.STRING, rules.dialect == "postgresql"
        case t.String():
            return Raw.TEXT, s.STRING, False
    return _special(kind, rules)


def _special(kind: t.TypeEngine[Any], rules: TypeRules) -> _Class:
    if isinstance(kind, t.LargeBinary | t.BINARY | t.VARBINARY):
        return Raw.BYTES, s.BYTES, False
    if isinstance(kind, DOMAIN):
        return _classify(kind.data_type, rules)
    match type(kind).__name__:
        case "BIT" if rules.dialect in {"mysql", "mariadb"}:
            return Raw.BYTES, s.BYTES, False
        case "YEAR":
            return Raw.INTEGER, s.INT16, False
        case "OID":
            return Raw.INTEGER, s.INT64, False
    # Everything else that a database has (intervals, networks, ranges, arrays, geometry) keeps all its digits as text.
    return Raw.TEXT, s.STRING, rules.dialect != "sqlite"


def _integer(kind: t.TypeEngine[Any], dialect: str) -> s.Schema:
    # Any SQLite integer may need 64 bits, whatever its column's type is called (sqlite.org/datatype3.html).
    if dialect == "sqlite" or isinstance(kind, t.BigInteger):
        return s.INT64
    name = type(kind).__name__.upper()
    unsigned = bool(getattr(kind, "unsigned", False))
    if name == "TINYINT":
        return s.INT16 if unsigned or dialect == "mssql" else s.INT8
    if isinstance(kind, t.SmallInteger):
        return s.INT32 if unsigned else s.INT16
    return s.INT64 if unsigned else s.INT32


def _float(kind: t.TypeEngine[Any], dialect: str) -> s.Schema:
    # SQLite's REAL has 8 bytes, MySQL's DOUBLE synonym REAL too; everywhere else REAL has 4.
    name = type(kind).__name__.upper()
    four_bytes = {"mysql": {"FLOAT"}, "mariadb": {"FLOAT"}, "sqlite": set[str]()}.get(dialect, {"REAL"})
    return s.FLOAT32 if name in four_bytes else s.FLOAT64


def _numeric(kind: t.Numeric[Any], rules: TypeRules) -> _Class:
    precision, scale = kind.precision, kind.scale or 0
    if rules.dialect == "sqlite" and precision is None:
        return Raw.FLOAT, s.FLOAT64, False
    if precision is None:
        fits = "best_fit" in rules.numeric and not isinstance(kind, t.DECIMAL)
        return Raw.DECIMAL, s.FLOAT64 if fits else s.decimal(0), False
    decimal = s.decimal(scale, precision=precision)
    if isinstance(kind, t.DECIMAL):
        return Raw.DECIMAL, decimal, False
    return Raw.DECIMAL, _mapped(precision, scale, rules.numeric) or decimal, False


def _mapped(precision: int, scale: int, mapping: str) -> s.Schema | None:
    whole = scale == 0 or (mapping != "precision_only" and -84 <= scale < 0)
    if mapping != "none" and whole and precision - min(scale, 0) <= 18:
        return next(
            schema
            for digits, schema in ((2, s.INT8), (4, s.INT16), (9, s.INT32), (18, s.INT64))
            if precision - min(scale, 0) <= digits
        )
    if mapping == "best_fit" and scale > 0 and precision <= 18:
        return s.FLOAT64
    return s.FLOAT64 if mapping == "best_fit_eager_double" and scale > 0 else None


def _date_time(kind: t.DateTime, rules: TypeRules) -> _Class:
    # A MySQL TIMESTAMP is an instant; sessions here run in UTC.
    mysql_instant = rules.dialect in {"mysql", "mariadb"} and isinstance(kind, t.TIMESTAMP)
    raw = Raw.INSTANT if kind.timezone or mysql_instant else Raw.WALL_CLOCK
    return raw, timestamp_schema(rules.granularity), False


def _time(kind: t.Time) -> _Class:
    # Connect's Time has no zone; a time with one keeps it as text.
    return (Raw.TEXT, s.STRING, True) if kind.timezone else (Raw.TIME, s.TIME_SCHEMA, False)
