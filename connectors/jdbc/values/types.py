"""Finds the Connect schema of a reflected column type, and the family of values that the driver gives. Pure.

The table is JDBC's, as Confluent's GenericDatabaseDialect maps it. Where a database cannot promise the narrow type that
a name suggests (SQLite), the wide one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import types as t
from sqlalchemy.dialects.postgresql import CITEXT, DOMAIN

from connect.api import schema as s
from connect.api import time_types
from connect.api.time_types import TIME_TYPES, TimePrecision

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.types import ColumnTypes

WIDEST_DECIMAL = 76
DAY_DIGITS = -5
UNSIGNED_FIX = "Set bigint.unsigned.handling.mode=precise for values above 9223372036854775807."


class Raw(StrEnum):
    """Names the kinds of values that a driver gives for a column, before they become Arrow."""

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
    """Names the conversions that SQL makes of a column if the column's own form would lose something or is not
    wanted.
    """

    AS_IS = "as is"
    TEXT = "text"
    TEXT_OF_INET = "text of inet"
    DOUBLE = "double"
    NUMBER = "number"
    BOOLEAN_OF_BIT = "boolean of bit"
    INTEGER_OF_BIT = "integer of bit"
    MICROSECONDS = "microseconds"


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """Describes the plan of one column: how its values come, and the Connect schema that they get.

    `fix` is what a person can do when a value does not fit, if it is more than to mend the row. `second_digits` is how
    many digits of a second a timestamp keeps, if the catalog tells; -5 for a date, whose unit is the day.
    """

    name: str
    raw: Raw
    schema: s.Schema
    projection: Projection = Projection.AS_IS
    fix: str = ""
    second_digits: int | None = None


@dataclass(frozen=True, slots=True)
class TypeRules:
    """Holds what the configuration and the database say about types."""

    types: ColumnTypes
    numeric: str = "none"
    granularity: str = "connect_logical"
    special_dates: str = "fail"
    unsigned_bigint: str = "long"
    precision: TimePrecision = TimePrecision.CONNECT


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """Describes a column of a query as the database tells it."""

    type: t.TypeEngine[Any]
    nullable: bool = True


def plan_column(name: str, kind: t.TypeEngine[Any], nullable: bool, rules: TypeRules) -> ColumnPlan:
    """Return the plan of one reflected column."""
    raw, schema, projection = _classify(kind, rules)
    no_date = rules.special_dates == "null" and raw in {Raw.DATE, Raw.WALL_CLOCK, Raw.INSTANT}
    is_unsigned = isinstance(kind, t.BigInteger) and bool(getattr(kind, "unsigned", False))
    schema = schema.as_optional(nullable or no_date)
    return ColumnPlan(name, raw, schema, projection, UNSIGNED_FIX * is_unsigned, rules.types.second_digits(kind))


def value_schema(name: str | None, columns: Sequence[ColumnPlan]) -> s.Schema:
    """Return the schema of a row: a struct with the table's name without schema. As in Confluent's connector a query
    has no name (None).
    """
    return s.struct((s.Field(c.name, c.schema) for c in columns), name=name)


def timestamp_schema(granularity: str) -> s.Schema:
    """Return the schema of a timestamp for a timestamp.granularity."""
    if granularity == "connect_logical":
        return s.TIMESTAMP_SCHEMA
    return s.INT64 if granularity.endswith("_long") else s.STRING


Classified = tuple[Raw, s.Schema, Projection]
"""Holds, in this order, the kind of a driver's values, the schema that they get, and the conversion that SQL makes."""
_AS_IS = Projection.AS_IS


def _classify(kind: t.TypeEngine[Any], rules: TypeRules) -> Classified:
    match kind:
        case t.Boolean():
            return Raw.BOOLEAN, s.BOOLEAN, _AS_IS
        case t.Integer():
            return _integer(kind, rules)
        case t.Float() | t.REAL() | t.DOUBLE():
            return _float(kind, rules.types)
        case t.Numeric():
            return _numeric(kind, rules)
        case t.Date():
            return Raw.DATE, time_types.date_schema(rules.precision), _AS_IS
        case t.DateTime():
            return _date_time(kind, rules)
        case t.Time():
            return _time(kind, rules) if rules.types.has_times else (Raw.TEXT, s.STRING, _AS_IS)
        case t.JSON() | t.Uuid() | t.Enum() | CITEXT():
            return Raw.TEXT, s.STRING, rules.types.documents
        case t.String():
            return Raw.TEXT, s.STRING, _AS_IS
    return _special(kind, rules)


def _special(kind: t.TypeEngine[Any], rules: TypeRules) -> Classified:
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
            return (
                Raw.INTEGER,
                s.INT16 if rules.precision is TimePrecision.CONNECT else TIME_TYPES["Year"],
                _AS_IS,
            )
        case "OID":
            return Raw.INTEGER, s.INT64, _AS_IS
        case "INET":
            return Raw.TEXT, s.STRING, Projection.TEXT_OF_INET
    # Everything else that a database has (intervals, networks, ranges, arrays, geometry) keeps all its digits as text.
    return Raw.TEXT, s.STRING, rules.types.others


def _bit(kind: t.TypeEngine[Any], rules: TypeRules) -> Classified:
    one = getattr(kind, "length", None) in {None, 1} and not getattr(kind, "varying", False)
    return rules.types.bit(is_one=one)


def _integer(kind: t.TypeEngine[Any], rules: TypeRules) -> Classified:
    unsigned = bool(getattr(kind, "unsigned", False))
    if isinstance(kind, t.BigInteger) and unsigned and rules.unsigned_bigint == "precise":
        return Raw.DECIMAL, s.decimal(0, precision=20), _AS_IS
    return Raw.INTEGER, _integer_schema(kind, rules.types, unsigned=unsigned), _AS_IS


def _integer_schema(kind: t.TypeEngine[Any], types: ColumnTypes, *, unsigned: bool) -> s.Schema:
    if types.has_wide_integers or isinstance(kind, t.BigInteger):
        return s.INT64
    name = type(kind).__name__.upper()
    if name == "TINYINT":
        return s.INT16 if unsigned or types.has_unsigned_tinyints else s.INT8
    if isinstance(kind, t.SmallInteger):
        return s.INT32 if unsigned else s.INT16
    return s.INT64 if unsigned else s.INT32


def _float(kind: t.TypeEngine[Any], types: ColumnTypes) -> Classified:
    if type(kind).__name__.upper() not in types.four_bytes:
        return Raw.FLOAT, s.FLOAT64, _AS_IS
    return Raw.FLOAT, s.FLOAT32, types.floats


def _numeric(kind: t.Numeric[Any], rules: TypeRules) -> Classified:
    precision, scale = kind.precision, kind.scale or 0
    if precision is None and not rules.types.has_exact_numerics:
        return Raw.FLOAT, s.FLOAT64, _AS_IS
    if precision is None:
        # Each value may have another scale, and Connect's Decimal has one for the column. Only text keeps all digits.
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


def _date_time(kind: t.DateTime, rules: TypeRules) -> Classified:
    raw = Raw.INSTANT if rules.types.is_instant(kind) else Raw.WALL_CLOCK
    projection = rules.types.moments(kind)
    if rules.precision is TimePrecision.CONNECT:
        return raw, timestamp_schema(rules.granularity), projection
    digits = rules.types.fraction_digits(kind)
    return raw, time_types.timestamp_schema(rules.precision, digits, zoned=raw is Raw.INSTANT), projection


def _time(kind: t.Time, rules: TypeRules) -> Classified:
    if kind.timezone:
        # Connect's Time has no zone; a time with one keeps it as text.
        plain = rules.precision is TimePrecision.CONNECT
        return Raw.TEXT, s.STRING if plain else TIME_TYPES["ZonedTime"], Projection.TEXT
    return Raw.TIME, time_types.time_schema(rules.precision, rules.types.fraction_digits(kind)), _AS_IS
