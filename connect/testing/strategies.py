"""Provides Hypothesis strategies for Connect schemas and values in Python form, and the edge values of every type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, localcontext
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.time_types import TIME_TYPES

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
_LAST_MS = (datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
_DAY_MS = 86_400_000
_NAMES = st.text("abcdefghij_XYZ0123456789", min_size=1, max_size=8).filter(lambda n: not n[0].isdigit())


class TypeCase(NamedTuple):
    """Holds a type and values at its edges."""

    schema: s.Schema
    values: Sequence[Any]


def _moment(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _time_of(ms: int) -> time:
    return (_EPOCH + timedelta(milliseconds=ms)).time()


TYPE_CASES: Final[Mapping[str, TypeCase]] = MappingProxyType(
    {
        "int8": TypeCase(s.INT8, (-128, -1, 0, 127)),
        "int16": TypeCase(s.INT16, (-(2**15), 0, 2**15 - 1)),
        "int32": TypeCase(s.INT32, (-(2**31), 0, 2**31 - 1)),
        "int64": TypeCase(s.INT64, (-(2**63), 0, 2**53 + 1, 2**63 - 1)),
        "float32": TypeCase(s.FLOAT32, (0.5, -0.0, 2.0**-149, float(2**24 + 2))),
        "float64": TypeCase(s.FLOAT64, (0.1, -0.0, 5e-324, 1.7976931348623157e308)),
        "float64-not-finite": TypeCase(s.FLOAT64, (math.nan, math.inf, -math.inf)),
        "boolean": TypeCase(s.BOOLEAN, (True, False)),
        "string": TypeCase(s.STRING, ("", " ", "\U0001f980", "naïve 漢字", "a\n\t\"'\\,;b", "NULL", "\x00")),
        "string-or-null": TypeCase(s.STRING.as_optional(), ("", None, "null")),
        "bytes": TypeCase(s.BYTES, (b"", b"\x00\xff", b"\xf0\x9f")),
        "bytes-one-mebibyte": TypeCase(s.BYTES, (bytes(range(256)) * 4096,)),
        "decimal-38-digits": TypeCase(s.decimal(0, precision=38), (Decimal(10**38 - 1), Decimal(-(10**38) + 1))),
        "decimal-scale-9": TypeCase(s.decimal(9, precision=38), (Decimal("0.000000001"), Decimal("-1.500000000"))),
        "decimal-scale-38": TypeCase(s.decimal(38, precision=38), (Decimal("0." + "9" * 38), Decimal("0." + "0" * 38))),
        "date": TypeCase(s.DATE_SCHEMA, (date(1, 1, 1), date(1582, 10, 4), date(1970, 1, 1), date(9999, 12, 31))),
        "time": TypeCase(s.TIME_SCHEMA, (time(0), time(23, 59, 59, 999000))),
        "timestamp": TypeCase(s.TIMESTAMP_SCHEMA, (_moment(_FIRST_MS), _moment(-1), _moment(0), _moment(_LAST_MS))),
        "year-1-and-9999": TypeCase(s.TIMESTAMP_SCHEMA.as_optional(), (_moment(_FIRST_MS), None, _moment(_LAST_MS))),
        "io.debezium.time.Date": TypeCase(TIME_TYPES["Date"], (-719_162, -1, 0, 2_932_896, 2**31 - 1)),
        "io.debezium.time.Year": TypeCase(TIME_TYPES["Year"], (1, 1901, 9999)),
        "io.debezium.time.Time": TypeCase(TIME_TYPES["Time"], (0, _DAY_MS - 1)),
        "io.debezium.time.MicroTime": TypeCase(TIME_TYPES["MicroTime"], (0, 1, _DAY_MS * 1000)),
        "io.debezium.time.NanoTime": TypeCase(TIME_TYPES["NanoTime"].as_optional(), (0, None, _DAY_MS * 10**6 - 1)),
        "io.debezium.time.Timestamp": TypeCase(TIME_TYPES["Timestamp"], (_FIRST_MS, -1, _LAST_MS)),
        "io.debezium.time.MicroTimestamp": TypeCase(
            TIME_TYPES["MicroTimestamp"], (_FIRST_MS * 1000, -1, 2**53 + 1, _LAST_MS * 1000 + 999)
        ),
        "io.debezium.time.NanoTimestamp": TypeCase(TIME_TYPES["NanoTimestamp"], (-(2**63), -1, 2**53 + 1, 2**63 - 1)),
        "io.debezium.time.ZonedTime": TypeCase(TIME_TYPES["ZonedTime"], ("00:00:00Z", "23:59:59.999999Z")),
        "io.debezium.time.ZonedTimestamp": TypeCase(
            TIME_TYPES["ZonedTimestamp"].as_optional(),
            ("0001-01-01T00:00:00Z", None, "", "9999-12-31T23:59:59.999999999Z"),
        ),
        "io.debezium.time.IsoTimestamp": TypeCase(TIME_TYPES["IsoTimestamp"], ("2024-02-29T12:34:56.1Z",)),
        "array": TypeCase(s.array(s.INT64), ([], [2**53 + 1, -1])),
        "array-of-nulls": TypeCase(s.array(s.STRING.as_optional(), optional=True), (None, [], [None, ""])),
        "map": TypeCase(s.map_of(s.STRING, s.FLOAT64), ({}, {"": -0.0, "b": 0.1})),
        "struct": TypeCase(
            s.struct({"a": s.INT32.as_optional(), "b": s.struct({"c": s.STRING})}, optional=True),
            ({"a": None, "b": {"c": ""}}, None, {"a": 1, "b": {"c": "x"}}),
        ),
    }
)
"""Gives every type by name with the values that connectors lose first."""


def _decimals(schema: s.Schema) -> st.SearchStrategy[Decimal]:
    digits = int(schema.parameters.get(s.PRECISION_PARAMETER, "38"))
    return st.integers(-(10**digits) + 1, 10**digits - 1).map(partial(_scaled, scale=schema.decimal_scale))


def _scaled(unscaled: int, *, scale: int) -> Decimal:
    with localcontext(prec=100):
        return Decimal(unscaled).scaleb(-scale)


_SCALARS: Final[Mapping[s.Type, st.SearchStrategy[Any]]] = MappingProxyType(
    {
        s.Type.INT8: st.integers(-(2**7), 2**7 - 1),
        s.Type.INT16: st.integers(-(2**15), 2**15 - 1),
        s.Type.INT32: st.integers(-(2**31), 2**31 - 1),
        s.Type.INT64: st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53 + 1, -(2**53) - 1]),
        s.Type.FLOAT32: st.floats(width=32) | st.sampled_from([-0.0, math.nan]),
        s.Type.FLOAT64: st.floats() | st.sampled_from([-0.0, math.nan]),
        s.Type.BOOLEAN: st.booleans(),
        s.Type.STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
        | st.sampled_from(["", "\U0001f980"]),
        s.Type.BYTES: st.binary(max_size=40),
    }
)
_LOGICAL: Final[Mapping[str, st.SearchStrategy[Any]]] = MappingProxyType(
    {
        s.DATE: st.dates(),
        s.TIME: st.integers(0, _DAY_MS - 1).map(_time_of),
        s.TIMESTAMP: st.integers(_FIRST_MS, _LAST_MS).map(_moment),
    }
)


def scalar_schemas() -> st.SearchStrategy[s.Schema]:
    """Return a strategy for schemas of base and logical types without members, nullable or not."""
    plain = [s.INT8, s.INT16, s.INT32, s.INT64, s.FLOAT32, s.FLOAT64, s.BOOLEAN, s.STRING, s.BYTES]
    logical = [s.DATE_SCHEMA, s.TIME_SCHEMA, s.TIMESTAMP_SCHEMA]
    precisions = st.integers(1, 38)
    decimals = precisions.flatmap(lambda p: st.integers(0, p).map(lambda scale: s.decimal(scale, precision=p)))
    debezium = st.sampled_from(list(TIME_TYPES.values()))
    return st.builds(s.Schema.as_optional, st.sampled_from([*plain, *logical]) | decimals | debezium, st.booleans())


def struct_schemas(members: st.SearchStrategy[s.Schema] | None = None) -> st.SearchStrategy[s.Schema]:
    """Return a strategy for struct schemas of one to five fields, scalars by default."""
    fields = st.dictionaries(_NAMES, scalar_schemas() if members is None else members, min_size=1, max_size=5)
    return st.builds(s.struct, fields, optional=st.booleans())


def schemas(*, max_leaves: int = 6) -> st.SearchStrategy[s.Schema]:
    """Return a strategy for schemas of every type, nested; map keys are text or whole numbers."""
    keys = st.sampled_from([s.STRING, s.INT32, s.INT64])

    def nested(inner: st.SearchStrategy[s.Schema]) -> st.SearchStrategy[s.Schema]:
        return (
            st.builds(s.array, inner, optional=st.booleans())
            | st.builds(s.map_of, keys, inner, optional=st.booleans())
            | struct_schemas(inner)
        )

    return st.recursive(scalar_schemas(), nested, max_leaves=max_leaves)


def values(schema: s.Schema) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a schema in the Python form; None too when it is optional."""
    present = _present(schema)
    return st.none() | present if schema.optional else present


def _present(schema: s.Schema) -> st.SearchStrategy[Any]:
    if schema.name == s.DECIMAL:
        return _decimals(schema)
    if schema.name is not None and schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    match schema.type:
        case s.Type.ARRAY:
            assert schema.items is not None
            return st.lists(values(schema.items), max_size=3)
        case s.Type.MAP:
            assert schema.items is not None
            assert schema.keys is not None
            return st.dictionaries(values(schema.keys), values(schema.items), max_size=3)
        case s.Type.STRUCT:
            return st.fixed_dictionaries({f.name: values(f.schema) for f in schema.fields})
    return _SCALARS[schema.type]


@st.composite
def columns(draw: st.DrawFn, *, max_rows: int = 6) -> tuple[s.Schema, list[Any]]:
    """Draw a schema and rows of it."""
    schema = draw(schemas())
    return schema, draw(st.lists(values(schema), max_size=max_rows))
