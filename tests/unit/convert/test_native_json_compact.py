"""JSON texts lose the space between their tokens and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from convert_strategies import json_values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect import native
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

pytestmark = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)


@pytest.mark.thorough
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.none() | st.tuples(json_values, st.sampled_from([None, 0, 3]), st.booleans()), max_size=5))
def test_it_is_what_json_without_space_is(given_rows: list[tuple[Any, int | None, bool] | None]) -> None:
    texts, wanted = [], []
    for row in given_rows:
        if row is None:
            texts.append(None)
            wanted.append(None)
            continue
        value, indent, ascii_only = row
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        texts.append(f" \t\r\n{text}\n".encode())
        wanted.append(json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only).encode())
    data = pa.array([None, *texts], pa.binary()).slice(1)
    made = native.compact_json(data)
    assert made is not None
    made.validate(full=True)
    assert made.to_pylist() == wanted


@pytest.mark.parametrize("text", [b'"', b'{"a', b'"\\', b'["\\"'])
def test_a_text_that_does_not_end_is_left_alone(text: bytes) -> None:
    assert native.compact_json(pa.array([text], pa.binary())) is None


@pytest.mark.thorough
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.none() | st.tuples(json_values, st.sampled_from([(",", ":"), (", ", ":"), (",", ": ")])), max_size=4)
)
def test_texts_that_are_known_to_be_compact_are_those_that_compacting_leaves(rows: list[Any]) -> None:
    texts = [None if row is None else json.dumps({"a": row[0]}, separators=row[1]).encode() for row in rows]
    data = pa.array([None, *texts], pa.binary()).slice(1)
    made = native.infer_json(data)
    if made is not None:
        assert made.is_compact == native.compact_json(data).equals(data)


def test_texts_without_space_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "compact_json", lambda _: pytest.fail("The texts were compacted"))
    data = pa.array([b'{"a":1.50,"b":"x y"}', None, b"null"], pa.binary())
    (column,) = JsonConverter(JsonConfig.parse({"schemas.enable": "false"})).decode("t", data)
    assert column.json_texts() is data


def test_schemaless_values_know_the_text_they_were_read_from() -> None:
    converter = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))
    rows = [b'{"a": 1.50,\n "b":"x y"}', None, b" null ", b'{"b":"\\u00e9"}']
    (column,) = converter.decode("t", pa.array(rows, pa.binary()))
    texts = column.json_texts()
    assert texts is not None
    assert texts.to_pylist() == [b'{"a":1.50,"b":"x y"}', None, b"null", b'{"b":"\\u00e9"}']
    assert list(column.rows()) == [{"a": 1.5, "b": "x y"}, None, None, {"b": "\xe9"}]
