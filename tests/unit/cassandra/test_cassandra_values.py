"""Reads bytes of every type as values: one by one and a page's column at a time, which agree."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest

from connect.api.errors import SchemaError
from connectors.cassandra.cql.cql_types import parse_type, user_types_of
from connectors.cassandra.cql.pages import Page, decode_column, split_columns
from connectors.cassandra.cql.values import decoder

TYPES = user_types_of("ks", {"outer": (("i", "n"), ("frozen<inner>", "int")), "inner": (("a",), ("text",))})


def sized(*parts: bytes | None) -> bytes:
    return b"".join(b"\xff\xff\xff\xff" if p is None else len(p).to_bytes(4, "big") + p for p in parts)


def number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "big", signed=True)


VALUES: Sequence[tuple[str, bytes, Any]] = [
    ("ascii", b"a", "a"),
    ("text", "ü".encode(), "ü"),
    ("varchar", b"", ""),
    ("blob", b"\x00\xff", b"\x00\xff"),
    ("boolean", b"\x01", True),
    ("boolean", b"\x00", False),
    ("tinyint", number(-128, 1), -128),
    ("smallint", number(-2, 2), -2),
    ("int", number(-(2**31)), -(2**31)),
    ("bigint", number(2**63 - 1, 8), 2**63 - 1),
    ("counter", number(-5, 8), -5),
    ("float", struct.pack(">f", 1.5), 1.5),
    ("double", struct.pack(">d", -0.1), -0.1),
    ("timestamp", number(-1, 8), -1),
    ("timestamp", number(2**62, 8), 2**62),
    ("date", (2**31).to_bytes(4, "big"), 0),
    ("date", bytes(4), -(2**31)),
    ("time", number(86_399_999_999_999, 8), 86_399_999_999_999),
    ("uuid", bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
    ("timeuuid", bytes(16), "00000000-0000-0000-0000-000000000000"),
    ("inet", bytes([10, 0, 0, 1]), "10.0.0.1"),
    ("inet", bytes(15) + b"\x01", "::1"),
    ("varint", number(-129, 2), "-129"),
    ("varint", number(10**40, 17), str(10**40)),
    ("decimal", number(2) + number(-150, 2), "-1.50"),
    ("decimal", number(-3) + number(7, 1), "7E+3"),
    ("decimal", number(2) + number(0, 1), "0.00"),
    ("duration", b"\x01\x04\xfc\x13\xa5\x24\x53\xc0\x00", {"months": -1, "days": 2, "nanoseconds": 10_800_000_000_000}),
    ("list<int>", number(2) + sized(number(1), None), [1, None]),
    ("set<text>", number(1) + sized(b"a"), ["a"]),
    ("map<int, text>", number(1) + sized(number(1), b"a"), {1: "a"}),
    ("frozen<list<frozen<map<text, int>>>>", number(1) + sized(number(1) + sized(b"k", number(3))), [{"k": 3}]),
    ("tuple<int, text>", sized(number(1), None), {"field1": 1, "field2": None}),
    ("outer", sized(sized(b"x"), number(4)), {"i": {"a": "x"}, "n": 4}),
    ("frozen<outer>", sized(sized(b"x")), {"i": {"a": "x"}, "n": None}),
    ("vector<float, 2>", struct.pack(">ff", 1.5, -2.0), [1.5, -2.0]),
    ("vector<text, 2>", b"\x01a\x02bc", ["a", "bc"]),
    ("'org.apache.cassandra.db.marshal.LexicalUUIDType'", b"\x01", b"\x01"),
]


@pytest.mark.parametrize(("text", "data", "value"), VALUES, ids=lambda v: v if isinstance(v, str) else "")
def test_each_value_alone_and_in_a_column_with_nulls(text: str, data: bytes, value: Any) -> None:
    cql = parse_type(text, TYPES)
    assert decoder(cql)(data) == value
    page = Page(b"".join(sized(cell, b"other") for cell in (None, data, data, None)), 4, 2)
    cells, others = split_columns(page)
    assert decode_column(cells, cql, "c").to_pylist(maps_as_pydicts="strict") == [None, value, value, None]
    assert decode_column(others, parse_type("text", {}), "o").to_pylist() == ["other"] * 4


@pytest.mark.parametrize("text", sorted({text for text, _, _ in VALUES}))
def test_a_column_of_nulls_and_one_without_rows(text: str) -> None:
    cql = parse_type(text, TYPES)
    for rows in (0, 3):
        (cells,) = split_columns(Page(sized(None) * rows, rows, 1))
        assert decode_column(cells, cql, "c").to_pylist() == [None] * rows


@pytest.mark.parametrize(
    "text", ["int", "timestamp", "uuid", "varint", "decimal", "inet", "duration", "boolean", "date"]
)
def test_empty_bytes_are_null_where_a_type_has_no_such_value(text: str) -> None:
    cql = parse_type(text, {})
    assert decoder(cql)(b"") is None
    (cells,) = split_columns(Page(sized(b"") * 2, 2, 1))
    assert decode_column(cells, cql, "c").to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("text", "data"),
    [("int", b"\x01"), ("text", b"\xff"), ("inet", b"\x01"), ("uuid", b"\x01"), ("list<int>", number(1) + number(9))],
)
def test_bytes_that_are_no_value_of_the_type_name_the_column(text: str, data: bytes) -> None:
    (cells,) = split_columns(Page(sized(data), 1, 1))
    with pytest.raises(SchemaError, match="Field 'c': a value is not of its type"):
        decode_column(cells, parse_type(text, {}), "c")


def test_a_map_with_collections_as_keys_says_that_it_has_no_form_and_names_its_column() -> None:
    cql = parse_type("map<frozen<list<int>>, int>", {})
    (cells,) = split_columns(Page(sized(number(1) + sized(number(1) + sized(number(2)), number(3))), 1, 1))
    with pytest.raises(SchemaError, match="Field 'm': A map whose keys are collections") as told:
        decode_column(cells, cql, "m")
    assert told.value.fix == "Leave the column out by table.columns, which lists the others."


@pytest.mark.parametrize("text", ["list<int", "list<>", "map<int>", "nope", "vector<int, x>", "int>", "int<text>", ""])
def test_texts_that_are_no_type(text: str) -> None:
    with pytest.raises(SchemaError, match="CQL type"):
        parse_type(text, {})


def test_frozen_types_are_one_cell() -> None:
    multicell = {
        text: parse_type(text, TYPES).is_multicell
        for text in (
            "list<int>",
            "frozen<list<int>>",
            "outer",
            "frozen<outer>",
            "tuple<int, int>",
            "vector<int, 2>",
            "int",
        )
    }
    assert [text for text, is_so in multicell.items() if is_so] == ["list<int>", "outer"]
    assert parse_type("vector<vector<float, 2>, 3>", {}).fixed_size == 24
    assert parse_type("vector<smallint, 3>", {}).fixed_size is None


@pytest.mark.parametrize(("cql", "form"), [("map<double, int>", ">d"), ("map<float, int>", ">f")])
def test_the_two_zeros_are_two_keys_of_a_map(cql: str, form: str) -> None:
    entries = [(-0.0, 1), (0.0, 2), (1.0, 3)]
    data = number(len(entries)) + b"".join(sized(struct.pack(form, key), number(value)) for key, value in entries)
    (cells,) = split_columns(Page(sized(data), 1, 1))
    (found,) = decode_column(cells, parse_type(cql, {}), "c").to_pylist()
    assert [(str(key), value) for key, value in found] == [("-0.0", 1), ("0.0", 2), ("1.0", 3)]
