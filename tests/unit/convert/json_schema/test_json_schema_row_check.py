"""Checks rows against hostile and odd schemas of a registry."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pyarrow as pa
import pytest
from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for

from connect.api.errors import RejectedRowsError, SchemaError
from connect.convert.json_schema import row_check as judged
from connect.convert.json_schema.row_check import row_check
from connect.lib.javatext.regex import compile_pattern
from connect.lib.javatext.timed_pattern import PatternTimeoutError, TimedPattern

SLOW = "^(a|aa)+$"
TEXT = "a" * 60 + "!"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def check(schema: Any, *rows: Any, others: dict[str, Any] | None = None) -> None:
    row_check(schema, others or {})(pa.array([json.dumps(row).encode() for row in rows], pa.binary()))


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        ({"pattern": SLOW}, TEXT),
        ({"$schema": DRAFT_7, "properties": {"a": {"$ref": "#"}}, "pattern": SLOW}, {"a": TEXT}),
        ({"properties": {"a": {"$schema": DRAFT_4, "pattern": SLOW}}}, {"a": TEXT}),
        ({"$ref": "other"}, TEXT),
        ({"patternProperties": {SLOW: {}}}, {TEXT: 1}),
        ({"$schema": DRAFT_4, "patternProperties": {SLOW: {}}, "additionalProperties": False}, {TEXT: 1}),
        ({"additionalProperties": False, "patternProperties": {SLOW: {}}}, {TEXT: 1}),
        ({"propertyNames": {"pattern": SLOW}}, {TEXT: 1}),
        ({"allOf": [{"not": {"pattern": SLOW}}]}, TEXT),
    ],
)
def test_a_pattern_without_an_end_is_given_up(schema: Any, row: Any) -> None:
    began_s = time.process_time()
    with pytest.raises(PatternTimeoutError, match=re.escape("was given up after 1 s on 'aaa")):
        check(schema, row, others={"other": {"$schema": DRAFT_7, "pattern": SLOW}})
    assert time.process_time() - began_s < 30


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"pattern": "^[a-z]+$"}, ["abc", 1, None], ["A", ""]),
        ({"pattern": r"\p{Lower}{2}\z"}, ["xab"], ["xA"]),  # which Java's patterns have, and Python's have not
        ({"patternProperties": {"^n": {"type": "integer"}}}, [{"n": 1, "a": "x"}, 3], [{"n": "x"}]),
        (
            {"properties": {"a": {}}, "patternProperties": {"^n": {}}, "additionalProperties": False},
            [{"a": 1, "n1": 2}, {}, "x"], [{"b": 1}],
        ),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, [{"a": "x", "b": 1}], [{"b": "x"}]),
        ({"additionalProperties": True}, [{"a": 1}], []),
        ({"const": {"$schema": "x"}}, [{"$schema": "x"}], [{}]),
        ({"properties": {"$schema": {"type": "integer"}}}, [{"$schema": 1}], [{"$schema": "x"}]),
        ({"$schema": DRAFT_4, "minimum": 3, "exclusiveMinimum": True}, [4], [3]),
    ],
)  # fmt: skip
def test_rows_are_judged_as_the_schema_has_it(schema: Any, good: list[Any], bad: list[Any]) -> None:
    check(schema, *good)
    for row in bad:
        with pytest.raises(RejectedRowsError) as refused:
            check(schema, *good, row)
        assert set(refused.value.rows) == {len(good)}, row


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[z-a]"])
def test_what_is_no_pattern_is_said(pattern: str) -> None:
    with pytest.raises(SchemaError, match="has a pattern that cannot be used"):
        check({"pattern": pattern}, "x")


def test_a_long_pattern_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns of more than a thousand characters are kept nowhere else."""
    compiled: list[str] = []

    def compiling(pattern: str) -> TimedPattern:
        compiled.append(pattern)
        return compile_pattern(pattern)

    monkeypatch.setattr(judged, "compile_pattern", compiling)
    pattern = f"^({'|'.join(f'zone{number:04}' for number in range(200))})$"
    check({"pattern": pattern}, *[f"zone{number:04}" for number in range(5)])
    assert compiled == [pattern]


def test_keywords_without_patterns_say_what_jsonschema_says() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"minimum": 3}}}
    for row in ({}, {"a": 1}, {"a": 4}, 3):
        found = best_match(validator_for(schema)(schema).iter_errors(row))
        if found is None:
            check(schema, row)
            continue
        with pytest.raises(RejectedRowsError, match=re.escape(found.message)):
            check(schema, row)
