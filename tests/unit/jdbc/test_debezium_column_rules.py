"""Checks Debezium's rules for columns: they mask, hash and cut off values, and choose record keys; those that are none
are told.
"""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest

from connectors.jdbc.debezium.shared.column_rule_keys import column_problems
from connectors.jdbc.debezium.shared.column_rules import ColumnRules, TextColumn

TEXT, SHORT, NUMBER = TextColumn(True), TextColumn(True, 9), TextColumn(False, None, comes_as_text=False)
VALUES = pa.array(["Grün 12345", None, ""])


def _rules(given: dict[str, str]) -> ColumnRules:
    return ColumnRules(given, lambda _: False)


def _shown(key: str, column: TextColumn = TEXT) -> list[str | None]:
    change = _rules({key: r"shop\.orders\.Name"}).change("shop.orders.name", column)
    assert change is not None
    found: list[str | None] = change.shown(VALUES).to_pylist()
    return found


def test_a_mask_stands_for_every_value_and_for_none():
    assert _shown("column.mask.with.3.chars") == ["***"] * 3
    assert _shown("column.mask.with.0.chars") == [""] * 3


def test_a_hash_is_that_of_the_salt_and_the_text():
    expected = hashlib.sha256("salt.1Grün 12345".encode()).hexdigest()
    assert _shown("column.mask.hash.v2.SHA-256.with.salt.salt.1")[:2] == [expected, None]
    assert _shown("column.mask.hash.v2.SHA-256.with.salt.salt.1", SHORT)[0] == expected[:9]


def test_the_first_version_of_the_hash_is_of_what_java_serializes():
    text = "Grün 12345".encode()
    expected = hashlib.md5(b"x" + b"\xac\xed\x00\x05t\x00" + bytes([len(text)]) + text).hexdigest()
    assert _shown("column.mask.hash.MD5.with.salt.x")[0] == expected


def test_texts_are_cut_off_where_their_column_may_hold_more():
    assert _shown("column.truncate.to.6.chars") == ["Grün 1", None, ""]
    assert _rules({"column.truncate.to.9.chars": "shop.orders.name"}).change("shop.orders.name", SHORT) is None


def test_what_is_no_text_stays_as_it_is():
    change = _rules({"column.mask.with.3.chars": "shop.orders.id"}).change("shop.orders.id", NUMBER)
    assert change is not None
    assert change.shown(pa.array([5])).to_pylist() == [5]
    assert _rules({"column.mask.with.3.chars": "shop.orders.id"}).change("shop.orders.id2", TEXT) is None


def test_a_column_is_cut_off_rather_than_masked():
    rules = _rules({"column.mask.with.3.chars": ".*", "column.truncate.to.4.chars": ".*name"})
    change = rules.change("shop.orders.name", TEXT)
    assert change is not None
    assert change.shown(VALUES).to_pylist() == ["Grün", None, ""]


def test_keys_are_chosen_as_they_are_listed():
    rules = _rules({"message.key.columns": r"shop\.orders:region,id;(.*).items:Code"})
    assert rules.key_of("shop.orders", ["id", "name", "region"]) == ("region", "id")
    assert rules.key_of("other.items", ["id", "code"]) == ("code",)
    assert rules.key_of("shop.clients", ["id", "region"]) == ()


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("message.key.columns", "shop.orders", "must be tables and their columns"),
        ("message.key.columns", "shop.(orders:id", "not a regular expression"),
        ("column.mask.with.three.chars", "a", "is no rule"),
        ("column.mask.hash.ROT13.with.salt.x", "a", "ROT13 is no algorithm"),
        ("column.truncate.to.0.chars", "a", "at least one character"),
        ("column.truncate.to.5.chars", "(", "not a regular expression"),
        ("column.truncate.to.2147483648.chars", "a", "at most 2147483647 characters"),
        ("column.mask.with.65536.chars", "a", "a mask has at most 65535 characters"),
        (f"column.mask.with.{'9' * 5000}.chars", "a", "a mask has at most 65535 characters"),
    ],
)
def test_rules_that_are_none_are_told(key: str, value: str, text: str):
    (problem,) = column_problems({key: value})
    assert problem.key == key
    assert text in problem.message
