"""Equality without loss tells apart what == does not, and joins what == parts."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given

from connect.testing.equality import difference, same_value
from connect.testing.strategies import columns

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        (None, ""),
        ("", b""),
        (Decimal(1), 1),
        (2**53 + 1, float(2**53)),
        (date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)),
        (datetime(2020, 1, 1, tzinfo=UTC).replace(tzinfo=None), datetime(2020, 1, 1, tzinfo=UTC)),
        ([1], [1, 2]),
        ({"a": None}, {}),
        ({}, {"a": None}),
        ({"a": [1]}, {"a": [1.0]}),
        (math.nan, None),
    ],
    ids=repr,
)
def test_these_are_not_the_same(left: object, right: object) -> None:
    assert not same_value(left, right)
    assert not same_value(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (math.nan, math.nan),
        ([math.nan], (math.nan,)),
        (Decimal("1.50"), Decimal("1.5")),
        (b"a", bytearray(b"a")),
        (datetime(2020, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), datetime(2020, 1, 1, tzinfo=UTC)),
    ],
    ids=repr,
)
def test_these_are_the_same(left: object, right: object) -> None:
    assert difference(left, right) is None


def test_a_difference_says_where() -> None:
    assert (
        difference({"a": [1, {"b": "x"}]}, {"a": [1, {"b": None}]}, "row 3")
        == "row 3.a[1].b is NoneType None, not str 'x'"
    )
    assert difference({"a": 1}, {}) == "value.a is missing"
    assert difference([1], []) == "value has 0 elements, not 1"


@given(columns())
def test_every_value_is_the_same_as_itself(column: tuple) -> None:
    _, rows = column
    assert same_value(rows, list(rows))
