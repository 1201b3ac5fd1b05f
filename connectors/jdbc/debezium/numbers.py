"""Reads numbers, money and bit strings in the forms of Debezium's decimal.handling.mode. Pure."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connectors.jdbc.debezium.kinds import Kind, Read, by_value, placeholder, strings
from connectors.jdbc.log.postgres.text import driver_array
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import WIDEST_DECIMAL, ColumnPlan, Raw

VARIABLE: Final = s.Schema(
    s.Type.STRUCT,
    name="io.debezium.data.VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
    fields=(s.Field("scale", s.INT32), s.Field("value", s.BYTES)),
)
_UNLIMITED: Final = 2147483647
_CENTS: Final = 2


def plain(raw: Raw, schema: s.Schema, absent: object) -> Kind:
    """Return the kind of a type whose values need no conversion."""

    def read(values: pa.BinaryArray) -> pa.Array:
        return driver_array(ColumnPlan("", raw, schema), values)

    return Kind(schema, read, absent)


def numeric(modifier: int, mode: str) -> Kind:
    """Return the kind of NUMERIC with a type modifier; -1: it was declared without digits."""
    if mode == "string":
        scale = max(0, _digits(modifier)[1]) if modifier >= 0 else 0
        return Kind(s.STRING, strings, f"{0:.{scale}f}", placeholder)
    if mode == "double":
        return plain(Raw.FLOAT, s.FLOAT64, 0.0)
    if modifier < 0:
        return Kind(VARIABLE, by_value(VARIABLE, _variable), _variable("0"))
    precision, scale = _digits(modifier)
    if max(precision, precision - scale, scale) > WIDEST_DECIMAL or scale < 0:
        return Kind(s.STRING, strings, "0")
    schema = s.decimal(scale, precision=precision)
    return Kind(schema, _decimals(schema), Decimal(0).scaleb(-scale))


def _digits(modifier: int) -> tuple[int, int]:
    """Return precision and scale; the scale has 11 bits with a sign (src/backend/utils/adt/numeric.c)."""
    return (modifier - 4) >> 16 & 0xFFFF, (((modifier - 4) & 0x7FF) ^ 1024) - 1024


def money(mode: str, digits: int = 2) -> Kind:
    """Return the kind of MONEY, whose text has a currency sign. A Decimal has `digits` behind the point."""
    schema = {"string": s.STRING, "double": s.FLOAT64}.get(mode, s.decimal(digits))
    target = arrow_type(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        texts = pc.replace_substring_regex(values.cast(pa.string()), r"[$,]", "")
        if mode == "precise" and digits < _CENTS:
            return pc.round(texts.cast(pa.decimal128(38, _CENTS)), digits, "half_towards_infinity").cast(target)
        return texts.cast(target)

    absent = {"string": "0.00", "double": 0.0}.get(mode, Decimal(0).scaleb(-digits))
    return Kind(schema, read, absent)


def bits(length: int) -> Kind:
    """Return the kind of BIT and VARBIT: one bit is a boolean, more are bytes from the lowest on."""
    if length == 1:
        return plain(Raw.BOOLEAN, s.BOOLEAN, absent=False)
    shown = str(length if length > 0 else _UNLIMITED)
    schema = replace(s.BYTES, name="io.debezium.data.Bits", version=1, parameters=MappingProxyType({"length": shown}))
    return Kind(schema, by_value(schema, bits_of), b"")


def bits_in_arrays(length: int) -> Kind:
    """Return the kind of an array of bit strings. Debezium gives it the schema of one bit string, and no value."""
    schema = bits(max(length, 2)).schema
    return Kind(schema, lambda values: pa.nulls(len(values), pa.binary()), b"")


def bits_of(text: str) -> bytes:
    """Return the bytes of a text of bits, the lowest first, without those at the end that are zero."""
    return int(text or "0", 2).to_bytes((len(text) + 7) // 8, "little").rstrip(b"\0")


def _decimals(schema: s.Schema) -> Read:
    target = arrow_type(schema)

    def read(values: pa.BinaryArray) -> pa.Array:
        texts = values.cast(pa.string())
        if pc.any(pc.is_in(texts, pa.array(["NaN", "Infinity", "-Infinity"]))).as_py():
            raise Misfit("it is no finite number: decimal.handling.mode=string or double holds it")
        return texts.cast(target)

    return read


def _variable(text: str) -> dict[str, object]:
    number = Decimal(text)
    if not number.is_finite():
        raise Misfit("it is no finite number: decimal.handling.mode=string or double holds it")
    whole, _, fraction = text.lstrip("-").partition(".")
    fraction = fraction.rstrip("0")
    # The number is not read by int(), which refuses texts of more than 4300 digits.
    unscaled = int(Decimal(whole + fraction)) * (-1 if number.is_signed() else 1)
    return {"scale": len(fraction), "value": unscaled_bytes(unscaled)}


def unscaled_bytes(number: int) -> bytes:
    """Return the shortest two's complement of a whole number, the highest byte first, as Java's BigInteger has it."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
