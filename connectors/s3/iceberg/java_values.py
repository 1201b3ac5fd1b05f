"""Converts rows to the columns of a table as Apache's Iceberg sink does: numbers, texts, times. Pure.

The rules are those of org.apache.iceberg.connect.data.RecordConverter. Unlike there, a whole number never loses digits
or a fraction silently: such a row is a bad row.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.api.values.text import java_string
from connectors.s3.formats.json_lines import json_lines

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?")
_MOMENT: Final = re.compile(rf"({_DATE.pattern})[T ]({_TIME.pattern})(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?")
_US_PER_MS: Final = 1000


def as_java(rows: pa.RecordBatch, columns: pa.StructType, *, evolves: bool) -> pa.RecordBatch:
    """Return the rows with the types of a table's columns, as far as Java's sink converts them.

    Fields that the table lacks are left out, and numbers narrowed, unless the table `evolves` to hold them. SchemaError
    names a field with a value that cannot be converted.
    """
    import pyarrow as pa

    if not rows.num_columns:
        return rows
    found = _struct(rows.to_struct_array(), columns, "", evolves)
    if not found.type.num_fields:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(found), pa.struct([])))
    return pa.RecordBatch.from_struct_array(found)


def unknown_fields(rows: pa.DataType, columns: pa.DataType, path: str = "") -> Iterator[str]:
    """Yield the dotted names of the fields of rows that a table lacks."""
    import pyarrow.types as t

    if not t.is_struct(rows) or not t.is_struct(columns):
        return
    for field in rows:
        index, name = columns.get_field_index(field.name), f"{path}.{field.name}".lstrip(".")
        if index < 0:
            yield name
        else:
            yield from unknown_fields(field.type, columns.field(index).type, name)


def _struct(array: pa.StructArray, target: pa.StructType, path: str, evolves: bool) -> pa.StructArray:
    import pyarrow as pa

    fields, children = [], []
    for field, child in zip(array.type, array.flatten(), strict=True):
        index = target.get_field_index(field.name)
        if index >= 0:
            found = _converted(child, target.field(index).type, f"{path}.{field.name}".lstrip("."), evolves)
            fields.append(field.with_type(found.type))
            children.append(found)
        elif evolves:
            fields.append(field)
            children.append(child)
    mask = array.is_null() if array.null_count else None
    if not fields:
        return pa.array([{}] * len(array), pa.struct([]), mask=None if mask is None else mask.to_numpy(False))
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _converted(array: pa.Array, target: pa.DataType, path: str, evolves: bool) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as t

    given = array.type
    if given == target or t.is_null(given):
        return array
    if t.is_struct(given) and t.is_struct(target):
        return _struct(array, target, path, evolves)
    if (t.is_list(given) or t.is_large_list(given)) and t.is_list(target):
        whole = array.take(pa.array(range(len(array)), pa.int64())).cast(pa.list_(given.value_type))
        items = _converted(whole.values, target.value_type, f"{path}[]", evolves)
        return pa.ListArray.from_arrays(whole.offsets, items, mask=whole.is_null() if whole.null_count else None)
    found = _leaf(array, target, evolves)
    if found is None:
        return array
    try:
        return found(array)
    except (pa.ArrowInvalid, ValueError, ArithmeticError) as error:
        raise SchemaError(f"A value of type {given} is no {target} of its table: {error}", field=path) from error


def _leaf(array: pa.Array, target: pa.DataType, evolves: bool) -> Callable[[pa.Array], pa.Array] | None:
    """Return what converts the values, or None if they stay as they are: they fit, or do not fit in Java either."""
    import pyarrow as pa
    import pyarrow.types as t

    given = array.type
    is_text = t.is_string(given) or t.is_large_string(given) or t.is_string_view(given)
    is_number = t.is_integer(given) or t.is_floating(given) or t.is_decimal(given)
    if t.is_string(target) and not is_text:
        has_text = is_number or t.is_boolean(given)
        return _json if t.is_nested(given) else _each(_text_of(given), target) if has_text else None
    if t.is_decimal(target) and (is_text or is_number) and not (t.is_decimal(given) and given.scale == target.scale):
        return _each(lambda value: _decimal(value, target.scale), target)
    if is_text and (of_text := _of_text(target)) is not None:
        return _each(of_text, target)
    if t.is_integer(given):
        return _of_whole(target, evolves)
    if t.is_floating(given) and t.is_integer(target):
        return lambda values: values.cast(target)
    if t.is_float64(given) and t.is_float32(target) and not evolves:
        return _to_float32
    if t.is_timestamp(given) and t.is_timestamp(target) and (given.tz is None) != (target.tz is None):
        return lambda values: values.cast(pa.timestamp("us", given.tz)).cast(pa.int64()).cast(target)
    return None


def _of_whole(target: pa.DataType, evolves: bool) -> Callable[[pa.Array], pa.Array] | None:
    """Return what converts whole numbers. Of dates they are days, and of times milliseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if t.is_integer(target) and not evolves:
        return lambda values: values.cast(target)
    if t.is_date32(target):
        return lambda values: values.cast(pa.int32()).cast(target)
    if t.is_time(target) or t.is_timestamp(target):
        return lambda values: pc.multiply_checked(values.cast(pa.int64()), _US_PER_MS).cast(target)
    return None


def _text_of(given: pa.DataType) -> Callable[[Any], str]:
    import pyarrow.types as t

    schema = s.FLOAT32 if t.is_float32(given) else None
    return lambda value: java_string(value, schema)


def _of_text(target: pa.DataType) -> Callable[[str], Any] | None:
    import pyarrow.types as t

    if t.is_boolean(target):
        return lambda text: text.lower() == "true"
    if t.is_integer(target):
        return lambda text: int(_required(_WHOLE, text)[0])
    if t.is_floating(target):
        return lambda text: float(text.replace("_", "?"))
    if t.is_date32(target):
        return lambda text: dt.date.fromisoformat(_required(_DATE, text)[0])
    if t.is_time(target):
        return lambda text: dt.time.fromisoformat(_required(_TIME, text)[0])
    if t.is_timestamp(target):
        return lambda text: _moment(text, is_local=target.tz is None)
    return _bytes if t.is_binary(target) else None


def _moment(text: str, *, is_local: bool) -> dt.datetime:
    """Return the time that a text tells. A local time drops an offset; one without an offset is of UTC."""
    date, time, _, _, offset = _required(_MOMENT, text).groups()
    found = dt.datetime.fromisoformat(f"{date}T{time}{'' if is_local else offset or 'Z'}")
    return found if is_local else found.astimezone(dt.UTC)


def _decimal(value: Any, scale: int) -> Decimal:
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    return exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is no base64 ({error})") from None


def _required(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(f"its text of {len(text)} characters has another form")
    return found


def _each(convert: Callable[[Any], Any], target: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    import pyarrow as pa

    def converted(values: pa.Array) -> pa.Array:
        return pa.array([None if value is None else convert(value) for value in values.to_pylist()], target)

    return converted


def _to_float32(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = values.cast(pa.float32(), safe=False)
    if pc.any(pc.and_(pc.is_inf(found), pc.invert(pc.is_inf(values)))).as_py():
        raise ValueError("a number is too large")
    return found


def _json(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return json_lines(Column.from_arrow(values), numeric_decimals=True).cast(pa.string())
