"""Checks that sinks write floats in JSON with the digits that Java writes, and what is no number as its text."""

from __future__ import annotations

import base64
import json
import math
import random
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Column
from connect.api.values.json_forms import JsonForms, json_texts
from connect.lib.javatext.numbers import to_float32
from connectors.s3.formats.json_lines import json_lines

GOLDEN = Path(__file__).parents[2] / "fixtures" / "connect-golden" / "json.jsonl"
NO_NUMBERS = [float("nan"), float("inf"), float("-inf")]


def golden_floats(kind: str) -> list[tuple[float, Any]]:
    """Return floats of a kind, and what Java's converter wrote for each."""
    found = []
    for line in GOLDEN.read_text().splitlines():
        case = json.loads(line)
        if case["id"].startswith((f"json/rt/{kind}/", "json/rt/java17-text-f/")) and kind in (case["value"] or {}):
            value = struct.unpack(">f" if kind == "float32" else ">d", bytes.fromhex(case["value"][kind]))[0]
            found.append((value, parsed(base64.b64decode(case["bytes_base64"]))["payload"]))
    return found


def parsed(text: bytes) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def narrowed(number: Decimal, kind: str) -> float:
    return to_float32(float(number)) if kind == "float32" else float(number)


def texts(values: list[Any], schema: s.Schema | None) -> list[bytes]:
    column = Column.from_rows(values, schema)
    return json_texts(column, JsonForms()).to_pylist()


@pytest.mark.parametrize(("kind", "schema"), [("float32", s.FLOAT32), ("float64", s.FLOAT64)])
def test_floats_have_the_digits_that_java_wrote(kind: str, schema: s.Schema) -> None:
    golden = golden_floats(kind)
    assert len(golden) > 5
    for value, written in golden:
        made = parsed(texts([value], schema)[0])
        if isinstance(made, str):
            assert made == written
        else:
            # Java writes two digits at least: 4.9E-324.
            assert narrowed(made, kind) == narrowed(written, kind)
            assert len(made.normalize().as_tuple().digits) <= len(written.as_tuple().digits)


def test_a_float_has_the_digits_of_its_own_width_wherever_it_is() -> None:
    nested = s.struct({"a": s.array(s.FLOAT32), "m": s.map_of(s.STRING, s.FLOAT32), "d": s.FLOAT64, "f": s.FLOAT32})
    row = {"a": [0.1, 1e-7], "m": {"x": 16777216.0}, "d": 0.1, "f": 3.4e38}
    whole = Column.from_arrow(pa.array([row], arrow_type(nested)), nested)
    expected = b'{"a":[0.1,1e-7],"m":{"x":16777216.0},"d":0.1,"f":3.4e+38}'
    assert json_texts(whole, JsonForms()).to_pylist() == [expected]
    assert json_lines(whole, numeric_decimals=False).to_pylist() == [expected]
    assert texts([0.1, 0.123456789012], s.FLOAT32) == [b"0.1", b"0.12345679"], "numbers of more bits are narrowed"
    assert texts([[0.123456789012]], s.array(s.FLOAT32)) == [b"[0.12345679]"]


def test_a_float_alone_has_the_digits_that_it_has_among_others() -> None:
    drawn = random.Random(32)
    bits = [drawn.randrange(1 << 32) for _ in range(20_000)] + [0x80000000, 1, 0x7F7FFFFF, 0x7F800000, 0x00800000]
    values = [struct.unpack("<f", struct.pack("<I", one))[0] for one in bits]
    alone = texts(values, s.FLOAT32)
    assert b"[%b]" % b",".join(alone) == texts([values], s.array(s.FLOAT32))[0]
    assert all(
        to_float32(float(text.strip(b'"'))) == value or math.isnan(value)
        for text, value in zip(alone, values, strict=True)
    )
    flat = orjson.dumps(np.array(values, np.float32), option=orjson.OPT_SERIALIZE_NUMPY)
    same_digits = [None if isinstance(number, str) else number for number in parsed(b"[%b]" % b",".join(alone))]
    assert same_digits == parsed(flat), "flat columns of S3 are written so"


@pytest.mark.parametrize("schema", [None, s.FLOAT32, s.FLOAT64])
def test_what_is_no_number_is_a_text(schema: s.Schema | None) -> None:
    assert texts(NO_NUMBERS, schema) == [b'"NaN"', b'"Infinity"', b'"-Infinity"']


def test_what_is_no_number_is_a_text_in_values_without_a_schema() -> None:
    row = {"a": NO_NUMBERS, "b": {"c": NO_NUMBERS[0], "d": None, "e": "null"}, "f": 10**30}
    written = b'{"a":["NaN","Infinity","-Infinity"],"b":{"c":"NaN","d":null,"e":"null"},"f":1' + b"0" * 30 + b"}"
    assert texts([row], None) == [written]
    assert texts([{**row, "f": 1}], None) == [written.replace(b"1" + b"0" * 30, b"1")]
    columns = Column.whole(pa.array([{"x": 1.5, "y": {"z": 2.5}}, {"x": float("nan"), "y": {"z": float("inf")}}]))
    assert json_lines(columns, numeric_decimals=False).to_pylist() == [
        b'{"x":1.5,"y":{"z":2.5}}', b'{"x":"NaN","y":{"z":"Infinity"}}',
    ]  # fmt: skip
