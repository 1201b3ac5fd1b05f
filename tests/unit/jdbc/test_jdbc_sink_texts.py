"""The texts that the JDBC sink has databases read."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.time_types import TIME_TYPES
from connectors.jdbc.sink.texts import Zones, text_of
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import Raw

UTC = Zones(zone("UTC"), zone("UTC"))
NESTED = s.struct({
    "a": s.array(s.FLOAT32.as_optional()), "m": s.map_of(s.STRING, s.FLOAT32), "d": s.FLOAT64,
    "in": s.struct({"f": s.FLOAT32.as_optional()}).as_optional(),
})  # fmt: skip


def test_floats_in_json_have_the_digits_of_their_width() -> None:
    rows = [{"a": [0.1, None], "m": {"x": 1e-7}, "d": 0.1, "in": {"f": 3.3}},
            None, {"a": [], "m": {}, "d": 1.5, "in": None}]  # fmt: skip
    texts = text_of(pa.array(rows, arrow_type(NESTED)), NESTED, Raw.TEXT, UTC).to_pylist()
    assert [None if text is None else json.loads(text) for text in texts] == rows


def test_a_float_that_is_no_number_has_no_form_in_a_json_column() -> None:
    schema = s.array(s.FLOAT32)
    with pytest.raises(SchemaError, match="holds what JSON does not"):
        text_of(pa.array([[float("nan")]], arrow_type(schema)), schema, Raw.TEXT, UTC)


def test_a_time_beyond_a_day_keeps_its_hours() -> None:
    schema = TIME_TYPES["MicroTime"]
    given = pa.array([0, 86_399_999_999, 86_400_000_000, 108_000_000_001, -3_723_000_000, None])
    assert text_of(given, schema, Raw.TIME, UTC).to_pylist() == [
        "00:00:00.000000", "23:59:59.999999", "24:00:00.000000", "30:00:00.000001", "-01:02:03.000000", None,
    ]  # fmt: skip
