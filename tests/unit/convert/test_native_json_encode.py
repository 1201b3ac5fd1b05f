"""The native JSON writer's bytes are those of the row path, which are Java's."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect import native
from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.convert.json.native import encode_native
from connect.convert.json.write import Writing, writer
from connect.lib.javatext.numbers import float32_text, float64_text

pytestmark = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)


def by_rows(array: pa.Array, schema: s.Schema) -> list[bytes | None]:
    write = writer(schema, Writing())
    return [None if row is None else write(row).encode() for row in array.to_pylist()]


def encoded(array: pa.Array, schema: s.Schema, writing: Writing | None = None) -> list[bytes | None] | None:
    made = encode_native(array, schema, writing or Writing(), prefix=b"", suffix=b"")
    if made is not None:
        made.validate(full=True)
    return None if made is None else made.to_pylist()


def doubles() -> list[float]:
    rng = random.Random(5)
    bits = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(3000)]
    short = [rng.randrange(10**4) / 10 ** rng.randrange(9) for _ in range(500)]
    powers = [2.0**i for i in range(-1074, 1024)] + [10.0**i for i in range(-320, 308)]
    return [*bits, *short, *powers, 0.0, -0.0, 5e-324, 1e7, 9999999.999999998, 1e-3, 9.999e-4, 2e-323, 1e23]


def test_doubles_have_javas_digits() -> None:
    numbers = [x for x in doubles() if math.isfinite(x)]
    assert encoded(pa.array(numbers), s.FLOAT64) == [float64_text(x).encode() for x in numbers]


def test_floats_have_javas_digits() -> None:
    rng = random.Random(6)
    bits = [struct.unpack("f", rng.randbytes(4))[0] for _ in range(3000)]
    numbers = [x for x in bits if math.isfinite(x)] + [2.0**i for i in range(-149, 128)] + [-0.0, 1e7]
    array = pa.array(numbers, pa.float32())
    assert encoded(array, s.FLOAT32) == [float32_text(x).encode() for x in array.to_pylist()]


def test_decimals_and_bytes_are_base64_of_the_fewest_bytes() -> None:
    unscaled = [0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 10**37, -(10**37)]
    array = pa.array([Decimal(number).scaleb(-2) for number in unscaled], pa.decimal128(38, 2))
    assert encoded(array, s.decimal(2)) == by_rows(array, s.decimal(2))
    texts = pa.array([b"", b"a", b"ab", b"abc", bytes(range(256))], pa.binary())
    assert encoded(texts, s.BYTES) == by_rows(texts, s.BYTES)


ORDER = s.struct({
    "id": s.INT64, "é \"\\": s.STRING.as_optional(), "tiny": s.INT8.as_optional(), "ok": s.BOOLEAN.as_optional(),
    "day": s.DATE_SCHEMA.as_optional(), "time": s.TIME_SCHEMA.as_optional(), "at": s.TIMESTAMP_SCHEMA.as_optional(),
    "part": s.struct({"f": s.FLOAT64.as_optional(), "l": s.array(s.STRING.as_optional()).as_optional()}).as_optional(),
}).as_optional()  # fmt: skip


def orders() -> pa.StructArray:
    rows: list[Any] = [
        {"id": 1, "é \"\\": "".join(map(chr, range(128))) + "é漢😀" * 7, "tiny": -128, "ok": True, "day": 19_000,
         "time": 86_399_999, "at": -1, "part": {"f": float("nan"), "l": ["x" * 40 + "\n", None, "", "a" * 15 + "\""]}},
        None,
        {"id": -(2**63), "é \"\\": None, "tiny": None, "ok": None, "day": None, "time": None, "at": None, "part": None},
        {"id": 2**63 - 1, "é \"\\": "", "tiny": 0, "ok": False, "day": -1, "time": 0, "at": 253_402_300_799_999,
         "part": {"f": float("-inf"), "l": []}},
    ]  # fmt: skip
    return pa.array(rows, arrow_type(ORDER))


def test_rows_of_all_types_are_written_as_the_row_path_does() -> None:
    assert encoded(orders(), ORDER) == by_rows(orders(), ORDER)


def test_a_slice_is_written_from_its_own_rows() -> None:
    assert encoded(orders().slice(2), ORDER) == by_rows(orders(), ORDER)[2:]


def test_every_row_but_null_ones_stands_between_prefix_and_suffix() -> None:
    made = encode_native(pa.array([1, None], pa.int32()), s.INT32.as_optional(), Writing(), prefix=b"<", suffix=b">")
    assert made is not None
    assert made.to_pylist() == [b"<1>", None]


def test_what_it_cannot_prove_is_left_to_the_other_writer() -> None:
    numeric = Writing(numeric_decimals=True)
    text_map = s.map_of(s.STRING, s.INT32)
    required = s.struct({"a": s.INT32})
    with_default = s.struct({"a": s.Schema(s.Type.INT32, optional=True, default=7)})
    named = s.struct({"a\x00b": s.INT32})
    assert encoded(pa.array([Decimal(1)], pa.decimal128(38, 0)), s.decimal(0), numeric) is None
    assert encoded(pa.array([Decimal(1)], pa.decimal256(60, 0)), s.decimal(0, precision=60)) is None
    assert encoded(pa.array([[("a", 1)]], arrow_type(text_map)), text_map) is None
    assert encoded(pa.array([{"a": None}], pa.struct([("a", pa.int32())])), required) is None
    assert encoded(pa.array([{"a": None}], pa.struct([("a", pa.int32())])), with_default) is None
    assert encoded(pa.array([{"a": 1}], pa.struct([("a", pa.int64())])), required) is None
    assert encoded(pa.array([{"b": 1}], pa.struct([("b", pa.int32())])), required) is None
    assert encoded(pa.array([{"a\x00b": 1}], pa.struct([("a\x00b", pa.int32())])), named) is None
    assert encoded(pa.array([{}], pa.struct([])), s.struct({})) is None
