"""Provides strategies for hypothesis: Connect schemas and values in Python form, with the values that break
converters.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.schema import Field, Schema, Type

INT_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
texts = st.one_of(
    st.sampled_from(
        ["", "null", "😀", 'a"b\\', "\x00\x1f\x7f", "é漢\u2028", "1", "2020-01-01", "2020-01-01T00:00:00Z"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
names = st.one_of(st.sampled_from(["a", "b", "schema", "payload", "v", "é", 'q"\\', "a.b", " "]), texts)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_YEAR_1_MS = -62_135_596_800_000
_YEAR_9999_MS = 253_402_300_799_999


def _timestamp(ms: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(milliseconds=ms)


leaves = st.sampled_from(
    [
        s.INT8, s.INT16, s.INT32, s.INT64, s.FLOAT32, s.FLOAT64, s.BOOLEAN, s.STRING, s.BYTES, s.DATE_SCHEMA,
        s.TIME_SCHEMA, s.TIMESTAMP_SCHEMA, s.decimal(0), s.decimal(2), s.decimal(38), s.decimal(3, precision=60),
    ]
)  # fmt: skip


def _nested(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    fields = st.lists(st.tuples(names, inner), max_size=4, unique_by=lambda field: field[0])
    keys = st.sampled_from([s.STRING, s.INT32, s.BOOLEAN])
    return st.one_of(
        fields.map(lambda members: Schema(Type.STRUCT, fields=tuple(Field(n, f) for n, f in members))),
        inner.map(s.array),
        st.builds(s.map_of, keys, inner),
    )


def _maybe_optional(base: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(lambda schema, optional: schema.as_optional(optional), base, st.booleans())


schemas = st.recursive(_maybe_optional(leaves), lambda inner: _maybe_optional(_nested(inner)), max_leaves=6)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema, null where it is optional."""
    present = _present(schema)
    return st.one_of(st.none(), present) if schema.optional else present


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    logical = _logical(schema)
    if logical is not None:
        return logical
    match schema.type:
        case Type.STRUCT:
            return st.fixed_dictionaries({f.name: values(f.schema) for f in schema.fields})
        case Type.ARRAY:
            assert schema.items is not None
            return st.lists(values(schema.items), max_size=3)
        case Type.MAP:
            assert schema.items is not None
            assert schema.keys is not None
            return st.dictionaries(values(schema.keys), values(schema.items), max_size=3)
    return _primitive(schema.type)


def _logical(schema: Schema) -> st.SearchStrategy[Any] | None:
    match schema.name:
        case s.DECIMAL:
            digits = int(schema.parameters.get(s.PRECISION_PARAMETER, 38))
            most = 10**digits - 1
            return st.one_of(st.integers(-most, most), st.sampled_from([0, 127, 128, -128, -129, most, -most])).map(
                lambda unscaled: _decimal(unscaled, schema.decimal_scale)
            )
        case s.DATE:
            return st.one_of(st.dates(), st.sampled_from([dt.date(1, 1, 1), dt.date(9999, 12, 31)]))
        case s.TIME:
            return st.integers(0, 86_399_999).map(lambda ms: _timestamp(ms).time())
        case s.TIMESTAMP:
            edges = st.sampled_from([0, -1, _YEAR_1_MS, _YEAR_9999_MS])
            return st.one_of(edges, st.integers(_YEAR_1_MS, _YEAR_9999_MS)).map(_timestamp)
    return None


def _decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _primitive(kind: Type) -> st.SearchStrategy[Any]:
    if kind in INT_BITS:
        half = 2 ** (INT_BITS[kind] - 1)
        edges = [value for value in (0, -half, half - 1, 2**53 + 1, -(2**53) - 1) if -half <= value < half]
        return st.one_of(st.sampled_from(edges), st.integers(-half, half - 1))
    match kind:
        case Type.FLOAT32:
            # Java writes two digits where one would do, which tells only the smallest numbers apart.
            return st.floats(width=32, allow_subnormal=False)
        case Type.FLOAT64:
            return st.one_of(st.sampled_from([-0.0, 1e10, 1e-5, 5e-324, 0.1, 2.0**53]), st.floats())
        case Type.BOOLEAN:
            return st.booleans()
        case Type.STRING:
            return texts
    return st.binary(max_size=6)


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.integers(-200, 200), texts, st.just("AQ=="),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=5,
)  # fmt: skip
"""Any JSON."""
