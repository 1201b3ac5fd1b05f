"""Gives Connect values the JSON form that Kafka's JsonConverter writes without schemas. Pure.

Forms after org.apache.kafka.connect.json.JsonConverter of Kafka 4.1: Date is days, Time and Timestamp are milliseconds,
bytes are base64, a Decimal is base64 of its unscaled bytes or a number, maps with text keys are objects and all others
arrays of pairs. A float that is no number is text, and a float of 32 bits has no more digits than tell it apart from
others of 32 bits.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import orjson

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.lib.javatext.numbers import shortest_float32

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH_DATE: Final = date(1970, 1, 1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS_OF_A_PART: Final = 1000
_NO_NUMBER: Final = re.compile(rb"null|NaN|Infinity")

ToJson = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class JsonForms:
    """Chooses among the JSON forms.

    With `numeric_decimals` a Decimal is a number. With `compact_maps` maps with text keys are objects. With
    `named_pairs` maps that are no objects are arrays of `{"key": …, "value": …}`.
    """

    numeric_decimals: bool = False
    named_pairs: bool = False
    compact_maps: bool = True


def own_texts(values: Column) -> pa.Array | None:
    """Return the text that schemaless values were read from; None if there is none, or the values were changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.json_texts()
    if texts is None:
        return None
    array = values.arrow()
    if array.null_count > texts.null_count:  # The text of a null value is the JSON `null`.
        texts = pc.if_else(array.is_valid(), texts, pa.scalar(None, texts.type))
    return texts.cast(pa.large_binary())


def json_texts(values: Column, forms: JsonForms) -> pa.Array:
    """Return one JSON text per row as large_binary, null where the value is null. SchemaError: one has no JSON form."""
    texts = own_texts(values) if values.schema is None else None
    return json_of_rows(values.rows(), values.schema, forms) if texts is None else texts


def json_of_rows(rows: Sequence[Any], schema: s.Schema | None, forms: JsonForms = JsonForms()) -> pa.Array:
    """Return one JSON text per row as large_binary, null where the value is null. SchemaError: a value has no JSON
    form.

    Some rows are converted at a time, as each row's text takes the memory of a Python object until its part is done.
    """
    import pyarrow as pa

    convert = None if schema is None else _converter(schema, forms)
    parts = []
    for start in range(0, max(1, len(rows)), _ROWS_OF_A_PART):
        part = rows[start : start + _ROWS_OF_A_PART]
        lines = [None if v is None else _dumps(convert(v)) if convert else _dumps_schemaless(v) for v in part]
        parts.append(pa.array(lines, pa.large_binary()))
    return pa.concat_arrays(parts)


def _dumps_schemaless(value: Any) -> bytes:
    text = _dumps(value)
    # The library writes null for a float that is no number, and the other one a name that JSON does not have.
    return _dumps(_with_no_numbers_as_texts(value)) if _NO_NUMBER.search(text) else text


def _with_no_numbers_as_texts(value: Any) -> Any:
    match value:
        case dict():
            return {name: _with_no_numbers_as_texts(member) for name, member in value.items()}
        case list() | tuple():
            return [_with_no_numbers_as_texts(item) for item in value]
        case float():
            return _number(value)
    return value


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # orjson refuses integers beyond 64 bits, which JSON allows.
        return _any_numbers(value)


def _any_numbers(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise SchemaError(f"A value has no JSON form: {error}") from error


def _converter(schema: s.Schema, forms: JsonForms) -> ToJson:
    logical = _logical(schema, forms)
    if logical is not None:
        return _nullable(logical)
    match schema.type:
        case s.Type.BYTES:
            return _nullable(lambda v: base64.b64encode(v).decode())
        case s.Type.FLOAT32:
            return _nullable(_float32)
        case s.Type.FLOAT64:
            return _nullable(_number)
        case s.Type.ARRAY:
            assert schema.items is not None
            if schema.items.type is s.Type.FLOAT32:
                return _nullable(_float32s)
            item = _converter(schema.items, forms)
            return _nullable(lambda v: [item(x) for x in v])
        case s.Type.MAP:
            return _nullable(_map_converter(schema, forms))
        case s.Type.STRUCT:
            fields = [(f.name, _converter(f.schema, forms)) for f in schema.fields]
            return _nullable(lambda v: {name: convert(v.get(name)) for name, convert in fields})
    return lambda v: v


def _nullable(convert: ToJson) -> ToJson:
    return lambda v: None if v is None else convert(v)


def _logical(schema: s.Schema, forms: JsonForms) -> ToJson | None:
    match schema.name:
        case s.DATE:
            return lambda v: (v - _EPOCH_DATE).days
        case s.TIME:
            return _time_ms
        case s.TIMESTAMP:
            return _timestamp_ms
        case s.RECURSIVE:
            return orjson.Fragment
        case s.DECIMAL if forms.numeric_decimals:
            return lambda v: orjson.Fragment(format(v, "f"))
        case s.DECIMAL:
            scale = schema.decimal_scale
            return lambda v: base64.b64encode(_unscaled(v, scale)).decode()
    return None


def _map_converter(schema: s.Schema, forms: JsonForms) -> ToJson:
    assert schema.items is not None
    assert schema.keys is not None
    item = _converter(schema.items, forms)
    if forms.compact_maps and schema.keys.type is s.Type.STRING and not schema.keys.optional:
        return lambda v: {name: item(x) for name, x in v.items()}
    name_of = _converter(schema.keys, forms)
    if forms.named_pairs:
        return lambda v: [{"key": name_of(name), "value": item(x)} for name, x in v.items()]
    return lambda v: [[name_of(name), item(x)] for name, x in v.items()]


def _number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _float32(value: float) -> float | str:
    return _number(shortest_float32(value))


def _float32s(values: Sequence[float | None]) -> list[float | str | None]:
    """Do as `shortest_float32` for many numbers at once."""
    import pyarrow as pa

    texts = pa.array(values, pa.float32()).cast(pa.utf8()).to_pylist()
    return [None if text is None else _number(float(text)) for text in texts]


def _time_ms(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _timestamp_ms(value: datetime) -> int:
    passed = value - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1000 + passed.microseconds // 1000


def _unscaled(value: Decimal, scale: int) -> bytes:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    shift = scale + exponent
    if shift < 0:
        raise SchemaError(f"Decimal {value} has more than {scale} digits after the point.")
    magnitude: int = int("".join(map(str, digits))) * 10**shift
    number = -magnitude if sign else magnitude
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
