"""With field.syntax.version=V2 every transform of fields reaches below the top level; V1 takes names as they are."""

from __future__ import annotations

from typing import Any

import pytest
from both_forms import build, same, values

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.api.records import Batch, Column

PLACE = s.struct({"city": s.STRING, "zip": s.STRING.as_optional()})
INNER = s.struct({"n": s.STRING, "at": s.INT64, "deep": PLACE.as_optional()})
OUTER = s.struct({"a": INNER.as_optional(), "b": s.INT32, "a.n": s.STRING}, optional=True)
ROWS = [
    {"a": {"n": "1", "at": 1000, "deep": {"city": "X", "zip": "9"}}, "b": 1, "a.n": "dot"},
    {"a": None, "b": 2, "a.n": "dot"},
    {"a": {"n": "2", "at": 2000, "deep": None}, "b": 3, "a.n": "dot"},
]
V2 = {"field_syntax_version": "V2"}


def schemaless(name: str, **config: str) -> list[Any]:
    (made,) = build(name, **config).apply(Batch("t", Column.from_rows(ROWS, None)))
    return list(made.values.rows())


def both(name: str, **config: str) -> list[Any]:
    """The same values with and without a schema."""
    found = values(same(name, ROWS, OUTER, **config, **V2))
    assert schemaless(name, **config, **V2) == found
    return found


def test_mask_reaches_below_and_leaves_null_parents_alone() -> None:
    found = both("MaskField$Value", fields="a.n,a.deep.city,b", replacement="7")
    assert [row["b"] for row in found] == [7, 7, 7]
    assert found[0]["a"] == {"n": "7", "at": 1000, "deep": {"city": "7", "zip": "9"}}
    assert found[1]["a"] is None
    assert found[2]["a"]["deep"] is None
    assert found[0]["a.n"] == "dot"


def test_backticks_hold_names_with_dots_and_v1_takes_names_as_they_are() -> None:
    for config in ({"fields": "`a.n`", **V2}, {"fields": "a.n"}):
        found = values(same("MaskField$Value", ROWS[:1], OUTER, **config))
        assert (found[0]["a.n"], found[0]["a"]["n"]) == ("", "1")


def test_cast_changes_types_below() -> None:
    found = same("Cast$Value", ROWS, OUTER, spec="a.n:int16,b:string", **V2)
    assert [(row["a"] and row["a"]["n"], row["b"]) for row in values(found)] == [(1, "1"), (None, "2"), (2, "3")]
    schema = found[0][5]
    assert schema.field("a").field("n") == s.INT16
    assert schema.field("a").optional
    bad = same("Cast$Value", ROWS, OUTER, spec="a.deep.city:int8", **V2)
    assert bad == {0: "Value (X) was out of range for requested data type"}


def test_replace_drops_keeps_and_renames_below() -> None:
    found = both("ReplaceField$Value", exclude="a.deep.zip,b", renames="a.n:m,a:A")
    assert found[0] == {"A": {"m": "1", "at": 1000, "deep": {"city": "X"}}, "a.n": "dot"}
    assert found[1] == {"A": None, "a.n": "dot"}
    found = both("ReplaceField$Value", include="a.deep.city,b")
    assert found[0] == {"a": {"deep": {"city": "X"}}, "b": 1}


def test_former_names_of_kafka_3_drop_and_keep_fields() -> None:
    assert both("ReplaceField$Value", blacklist="a.deep,b") == both("ReplaceField$Value", exclude="a.deep,b")
    assert both("ReplaceField$Value", whitelist="b") == both("ReplaceField$Value", include="b")
    assert both("ReplaceField$Value", exclude="b", blacklist="a") == both("ReplaceField$Value", exclude="b")


def test_timestamps_below_are_converted() -> None:
    config = {"field": "a.at", "target_type": "string", "format": "ss"}
    assert [row["a"] and row["a"]["at"] for row in both("TimestampConverter$Value", **config)] == ["01", None, "02"]


def test_fields_are_inserted_below() -> None:
    found = both("InsertField$Value", static_field="a.deep.src", static_value="x", topic_field="t")
    assert [row["t"] for row in found] == ["t", "t", "t"]
    assert found[0]["a"]["deep"] == {"city": "X", "zip": "9", "src": "x"}
    assert found[2]["a"]["deep"] is None


def test_keys_and_headers_come_from_below() -> None:
    rows = same("ValueToKey", ROWS, OUTER, fields="a.deep.city,b", **V2)
    assert [row[1] for row in rows] == [{"city": "X", "b": 1}, {"city": None, "b": 2}, {"city": None, "b": 3}]
    found = same("HeaderFrom$Value", ROWS, OUTER, fields="a.n,b", headers="n,b", operation="move", **V2)
    assert [row[4][1:] for row in found] == [["1", 1], [None, 2], ["2", 3]]
    assert found[0][2] == {"a": {"at": 1000, "deep": {"city": "X", "zip": "9"}}, "a.n": "dot"}


def test_a_batch_whose_parents_are_all_null_has_the_same_schema() -> None:
    for name, config in (("Cast$Value", {"spec": "a.n:int16"}), ("ReplaceField$Value", {"exclude": "a.n"})):
        some, none = same(name, ROWS, OUTER, **config, **V2), same(name, ROWS[1:2], OUTER, **config, **V2)
        assert some[0][5] == none[0][5]


def test_an_open_backtick_is_a_wrong_configuration() -> None:
    with pytest.raises(ConfigError, match="Incomplete backtick pair") as caught:
        build("MaskField$Value", fields="`a", **V2)
    assert [p.key for p in caught.value.problems] == ["fields"]
