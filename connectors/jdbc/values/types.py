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
from sqlalchemy.dialects.postgresql import CITEXT, DOMAIN

from connect.api import schema as s
from connect.api import time_types
from connect.api.time_types import TIME_TYPES, TimePrecision

WIDEST_DECIMAL = 76
DAY_DIGITS = -5
UNSIGNED_FIX = "Set bigint.unsigned.handling.mode=precise for values above 9223372036854775807."


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


class Projection(StrEnum):
    """What SQL makes of a column because its own form would lose something, or is not the one wanted."""

    AS_IS = "as is"
    TEXT = "text"
    TEXT_OF_INET = "text of inet"
    DOUBLE = "double"
    NUMBER = "number"
    BOOLEAN_OF_BIT = "boolean of bit"
    INTEGER_OF_BIT = "integer of bit"


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """One column: how its values come, and the Connect schema they leave with.

    `fix`: what a person can do when a value does not fit, where there is more than to mend the row. `second_digits`:
    how many digits of a second a timestamp keeps, where the catalog says; -5 for a date, whose unit is the day.
    """

    name: str
    raw: Raw
    schema: s.Schema
    projection: Projection = Projection.AS_IS
    fix: str = ""
    second_digits: int | None = None


@dataclass(frozen=True, slots=True)
class TypeRules:
    """What the configuration and the database say about types. `dialect` is SQLAlchemy's name of it."""

    dialect: str
    numeric: str = "none"
    granularity: str = "connect_logical"
    special_dates: str = "fail"
    unsigned_bigint: str = "long"
    precision: TimePrecision = TimePrecision.CONNECT


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a query as the database tells it."""

    type: t.TypeEngine[Any]
    nullable: bool = True


def plan_column(name: str, kind: t.TypeEngine[Any], nullable: bool, rules: TypeRules) -> ColumnPlan:
    """The plan of one reflected column."""
    raw, schema, projection = _classify(kind, rules)
    no_date = rules.special_dates == "null" and raw in {Raw.DATE, Raw.WALL_CLOCK, Raw.INSTANT}
    is_unsigned = isinstance(kind, t.BigInteger) and bool(getattr(kind, "unsigned", False))
    schema = schema.as_optional(nullable or no_date)
    return ColumnPlan(name, raw, schema, projection, UNSIGNED_FIX * is_unsigned, _second_digits(kind, rules.dialect))


def _second_digits(kind: t.TypeEngine[Any], dialect: str) -> int | None:
    match kind:
        case t.DateTime() | t.Time() if dialect in {"mysql", "mariadb"}:
            return getattr(kind, "fsp", None) or 0
        case t.DateTime() | t.Time() if dialect == "postgresql":
            digits: int | None = getattr(kind, "precision", None)
            return 6 if digits is None else digits
        case t.Date() if dialect != "sqlite":
            return DAY_DIGITS
    return None


def value_schema(name: str | None, columns: Sequence[ColumnPlan]) -> s.Schema:
    """The schema of a row: a struct with the bare table name, for a query without one as with Confluent's."""
    return s.struct((s.Field(c.name, c.schema) for c in columns), name=name)


def timestamp_schema(granularity: str) -> s.Schema:
    """The schema of a timestamp for a timestamp.granularity."""
    if granularity == "connect_logical":
        return s.TIMESTAMP_SCHEMA
    return s.INT64 if granularity.endswith("_long") else s.STRING


_Class = tuple[Raw, s.Schema, Projection]
_AS_IS = Projection.AS_IS


def _classify(kind: t.TypeEngine[Any], rules: TypeRules) -> _Class:
    match kind:
        case t.Boolean():
            return Raw.BOOLEAN, s.BOOLEAN, _AS_IS
        case t.Integer():
            return _integer(kind, rules)
        case t.Float() | t.REAL() | t.DOUBLE():
            return _float(kind, rules.dialect)
        case t.Numeric():
            return _numeric(kind, rules)
        case t.Date():
            return Raw.DATE, time_types.date_schema(rules.precision), _AS_IS
        case t.DateTime():
            return _date_time(kind, rules)
        # SQLite keeps times as text of the writer's choice; the Java driver passes them on as text, too.
        case t.Time():
            return (Raw.TEXT, s.STRING, _AS_IS) if rules.dialect == "sqlite" else _time(kind, rules)
        case t.JSON() | t.Uuid() | t.Enum() | CITEXT():
            return Raw.TEXT, s.STRING, Projection.TEXT if rules.dialect == "postgresql" else _AS_IS
        case t.String():
            return Raw.TEXT, s.STRING, _AS_IS
    return _special(kind, rules)


def _special(kind: t.TypeEngine[Any], rules: TypeRules) -> _Class:
    # TINYBLOB, MEDIUMBLOB and LONGBLOB of MySQL are no LargeBinary to SQLAlchemy.
    if isinstance(kind, t.LargeBinary | t.BINARY | t.VARBINARY) or type(kind).__name__.endswith("BLOB"):
        return Raw.BYTES, s.BYTES, _AS_IS
    if isinstance(kind, DOMAIN):
        return _classify(kind.data_type, rules)
    match type(kind).__name__:
        case "BIT":
            return _bit(kind, rules)
        case "MONEY":
            # Text would depend on lc_monetary; FLOAT64, as Java has it, rounds above 2^53 cents.
            schema = s.FLOAT64 if "best_fit" in rules.numeric else s.decimal(2, precision=19)
            return Raw.DECIMAL, schema, Projection.NUMBER
        case "YEAR":
            return Raw.INTEGER, s.INT16 if rules.precision is TimePrecision.CONNECT else TIME_TYPES["Year"], _AS_IS
        case "OID":
            return Raw.INTEGER, s.INT64, _AS_IS
        case "INET":
            return Raw.TEXT, s.STRING, Projection.TEXT_OF_INET
    # Everything else that a database has (intervals, networks, ranges, arrays, geometry) keeps all its digits as text.
    return Raw.TEXT, s.STRING, _AS_IS if rules.dialect == "sqlite" else Projection.TEXT


def _bit(kind: t.TypeEngine[Any], rules: TypeRules) -> _Class:
    one = getattr(kind, "length", None) in {None, 1} and not getattr(kind, "varying", False)
    if rules.dialect in {"mysql", "mariadb"}:
        return (Raw.INTEGER, s.INT8, Projection.INTEGER_OF_BIT) if one else (Raw.BYTES, s.BYTES, _AS_IS)
    if one and rules.dialect == "postgresql":
        return Raw.BOOLEAN, s.BOOLEAN, Projection.BOOLEAN_OF_BIT
    return Raw.TEXT, s.STRING, Projection.TEXT


def _integer(kind: t.TypeEngine[Any], rules: TypeRules) -> _Class:
    unsigned = bool(getattr(kind, "unsigned", False))
    if isinstance(kind, t.BigInteger) and unsigned and rules.unsigned_bigint == "precise":
        return Raw.DECIMAL, s.decimal(0, precision=20), _AS_IS
    return Raw.INTEGER, _integer_schema(kind, rules.dialect, unsigned=unsigned), _AS_IS


def _integer_schema(kind: t.TypeEngine[Any], dialect: str, *, unsigned: bool) -> s.Schema:
    # Any SQLite integer may need 64 bits, whatever its column's type is called (sqlite.org/datatype3.html).
    if dialect == "sqlite" or isinstance(kind, t.BigInteger):
        return s.INT64
    name = type(kind).__name__.upper()
    if name == "TINYINT":
        return s.INT16 if unsigned or dialect == "mssql" else s.INT8
    if isinstance(kind, t.SmallInteger):
        return s.INT32 if unsigned else s.INT16
    return s.INT64 if unsigned else s.INT32


def _float(kind: t.TypeEngine[Any], dialect: str) -> _Class:
    # SQLite's REAL has 8 bytes, MySQL's DOUBLE synonym REAL too; everywhere else REAL has 4.
    name = type(kind).__name__.upper()
    four_bytes = {"mysql": {"FLOAT"}, "mariadb": {"FLOAT"}, "sqlite": set[str]()}.get(dialect, {"REAL"})
    if name not in four_bytes:
        return Raw.FLOAT, s.FLOAT64, _AS_IS
    # MariaDB and MySQL write a FLOAT with six digits, which is not the value (16777215 becomes 16777200).
    return Raw.FLOAT, s.FLOAT32, Projection.DOUBLE if dialect in {"mysql", "mariadb"} else _AS_IS


def _numeric(kind: t.Numeric[Any], rules: TypeRules) -> _Class:
    precision, scale = kind.precision, kind.scale or 0
    if rules.dialect == "sqlite" and precision is None:
        return Raw.FLOAT, s.FLOAT64, _AS_IS
    if precision is None:
        # Every value has a scale of its own, and Decimal has one per column: only text keeps all digits.
        fits = "best_fit" in rules.numeric and not isinstance(kind, t.DECIMAL)
        return Raw.DECIMAL, s.FLOAT64 if fits else s.STRING, _AS_IS
    wide = max(precision, precision - scale, scale) > WIDEST_DECIMAL
    exact = s.STRING if wide else s.decimal(scale, precision=precision)
    if isinstance(kind, t.DECIMAL):
        return Raw.DECIMAL, exact, _AS_IS
    return Raw.DECIMAL, _mapped(precision, scale, rules.numeric) or exact, _AS_IS


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
    if rules.precision is TimePrecision.CONNECT:
        return raw, timestamp_schema(rules.granularity), _AS_IS
    digits = _fraction_digits(kind, rules.dialect)
    return raw, time_types.timestamp_schema(rules.precision, digits, zoned=raw is Raw.INSTANT), _AS_IS


def _time(kind: t.Time, rules: TypeRules) -> _Class:
    if kind.timezone:
        # Connect's Time has no zone; a time with one keeps it as text.
        plain = rules.precision is TimePrecision.CONNECT
        return Raw.TEXT, s.STRING if plain else TIME_TYPES["ZonedTime"], Projection.TEXT
    return Raw.TIME, time_types.time_schema(rules.precision, _fraction_digits(kind, rules.dialect)), _AS_IS


def _fraction_digits(kind: t.TypeEngine[Any], dialect: str) -> int:
    """How many digits of a second the column keeps; 6 where the catalog does not say."""
    if dialect in {"mysql", "mariadb"}:
        return getattr(kind, "fsp", None) or 0
    digits: int | None = getattr(kind, "precision", None)
    return 6 if digits is None else digits
