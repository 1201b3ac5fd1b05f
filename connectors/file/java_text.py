"""`String.valueOf` of a Connect value, as the file sink writes it. Pure.

Dates are those of java.util.Date.toString in UTC. Bytes inside other values are base64: Java prints an object address.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from connect.api.schema import Schema, Type

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def java_text(value: Any, schema: Schema | None = None) -> str:
    """The text of a value; without a schema a dict is a map."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return float32_text(value) if schema is not None and schema.type is Type.FLOAT32 else float_text(value)
        case Decimal():
            return str(abs(value) if value.is_zero() else value)  # BigDecimal has no negative zero
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case Mapping():
            return _mapping_text(value, schema)
        case list() | tuple():
            items = None if schema is None else schema.items
            return f"[{', '.join(java_text(v, items) for v in value)}]"
        case dt.date() | dt.time():
            return _date_text(value)
    return str(value)


def float_text(value: float) -> str:
    """`Double.toString` of JDK 19 and later."""
    text = repr(value)
    if "e" in text and "." not in text:
        # Of a number that one digit would tell apart, Java gives the nearest two digits: 4.9E-324.
        nearer = f"{value:.1e}"
        text = nearer if float(nearer) == value else text
    return _java_notation(value, text)


def float32_text(value: float) -> str:
    """`Float.toString` of a number that a 32-bit float holds."""
    import pyarrow as pa

    return _java_notation(value, pa.scalar(value, pa.float32()).cast(pa.string()).as_py())


def _java_notation(value: float, text: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digit_tuple, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    minus = "-" if sign else ""
    point = len(digit_tuple) + exponent
    digits = "".join(map(str, digit_tuple)).rstrip("0")
    if not digits:
        return f"{minus}0.0"
    if -3 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    if 0 < point <= 7:
        return f"{minus}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{minus}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _mapping_text(value: Mapping[Any, Any], schema: Schema | None) -> str:
    if schema is not None and schema.type is Type.STRUCT:
        members = ((f.name, value.get(f.name), f.schema) for f in schema.fields)
        return f"Struct{{{','.join(f'{n}={java_text(v, m)}' for n, v, m in members if v is not None)}}}"
    keys, items = (None, None) if schema is None else (schema.keys, schema.items)
    return f"{{{', '.join(f'{java_text(k, keys)}={java_text(v, items)}' for k, v in value.items())}}}"


def _date_text(value: dt.date | dt.time) -> str:
    day = dt.date(1970, 1, 1) if isinstance(value, dt.time) else value
    clock = value if isinstance(value, dt.time | dt.datetime) else dt.time()
    return (
        f"{_DAYS[day.weekday()]} {_MONTHS[day.month - 1]} {day.day:02} "
        f"{clock.hour:02}:{clock.minute:02}:{clock.second:02} UTC {day.year:04}"
    )
