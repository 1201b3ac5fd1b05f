"""Reads texts of PostgreSQL as Debezium's values, where a table of the tests beside Debezium does not come to them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from connect.api.time_types import TimePrecision
from connectors.jdbc.debezium import arrays, geometry, moments, numbers, texts
from connectors.jdbc.debezium.catalog_types import CatalogType
from connectors.jdbc.debezium.defaults import default_of
from connectors.jdbc.debezium.kinds import TEXT, Kind
from connectors.jdbc.debezium.shared.handling_modes import Handling
from connectors.jdbc.debezium.types import kind_of
from connectors.jdbc.values.temporal import Misfit


def _values(kind: Kind, *given: str | None) -> list[object]:
    return kind.read(pa.array([None if text is None else text.encode() for text in given], pa.binary())).to_pylist()


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("{}", []),
        ('{a,"b,c",NULL,"NULL",""}', ["a", "b,c", None, "NULL", ""]),
        (r'{"a\"b","c\\d","{e}"}', ['a"b', r"c\d", "{e}"]),
        ("[0:1]={1,2}", ["1", "2"]),
        ('{{1,2},{"}",4}}', [None, None]),
    ],
)
def test_the_items_of_an_array(text: str, items: list[str | None]):
    assert arrays.items(text) == items


@pytest.mark.parametrize("text", ["", "{", "1,2", '{a b"c}'])
def test_what_is_no_array_is_a_misfit(text: str):
    with pytest.raises(Misfit):
        arrays.items(text)


def test_an_array_of_nulls_and_no_rows():
    kind = arrays.array(TEXT, unavailable=lambda _: None)
    assert _values(kind, None, "{a}", None, "{}") == [None, ["a"], None, []]
    assert _values(kind) == []


@pytest.mark.parametrize(
    ("text", "micros", "iso"),
    [
        ("00:00:00", 0, "P0Y0M0DT0H0M0S"),
        ("1 year", 31_557_600_000_000, "P1Y0M0DT0H0M0S"),
        ("-1 mons", -2_629_800_000_000, "P0Y-1M0DT0H0M0S"),
        ("1 mon -1 days +02:03:04.5", 2_550_784_500_000, "P0Y1M-1DT2H3M4.5S"),
        ("-26:00:01", -93_601_000_000, "P0Y0M0DT-26H0M-1S"),
    ],
)
def test_an_interval_is_microseconds_and_a_text_of_iso_8601(text: str, micros: int, iso: str):
    assert moments.interval_micros(text) == micros
    assert moments.interval_text(text) == iso


def test_numbers_without_digits_keep_their_scale():
    assert _values(numbers.numeric(-1, "precise"), "1.50", "-128", "0.0", None) == [
        {"scale": 1, "value": b"\x0f"}, {"scale": 0, "value": b"\x80"}, {"scale": 0, "value": b"\x00"}, None,
    ]  # fmt: skip
    with pytest.raises(Misfit, match=r"decimal\.handling\.mode"):
        _values(numbers.numeric(-1, "precise"), "NaN")
    assert _values(numbers.numeric(-1, "string"), "NaN", "1.50") == ["NaN", "1.50"]


def test_pairs_of_hstore_keep_quotes():
    assert texts.pairs(r'"a\"b"=>"c, d", "e=>"=>NULL') == {'a"b': "c, d", "e=>": None}


@pytest.mark.parametrize(
    ("digits", "values"), [(2, ["1234.50", "-0.05"]), (4, ["1234.5000", "-0.0500"]), (1, ["1234.5", "-0.1"])]
)
def test_money_has_as_many_digits_as_the_key_says(digits: int, values: list[str]):
    kind = numbers.money("precise", digits)
    assert kind.schema.parameters["scale"] == str(digits)
    assert _values(kind, "$1,234.50", "-$0.05") == [Decimal(value) for value in values]


def test_a_path_tells_whether_it_is_closed():
    closed, is_open = _values(geometry.KINDS["path"], "((0,0),(1,1))", "[(0,0),(1e-3,1)]")
    assert dict(closed["extensions"])["closed"] == "true"  # type: ignore[index]
    assert dict(is_open["extensions"])["closed"] == "false"  # type: ignore[index]


@pytest.mark.parametrize(
    ("expression", "name", "value"),
    [
        ("nextval('a.b_seq'::regclass)", "int4", 0),
        ("'it''s'::text", "text", "it's"),
        ("'-1'::integer", "int4", -1),
        ("(- 1)", "int4", None),
        ("1.50", "numeric", Decimal("1.5")),
        ("NULL::character varying", "varchar", None),
        ("gen_random_uuid()", "uuid", "00000000-0000-0000-0000-000000000000"),
        ("CURRENT_TIMESTAMP", "timestamp", 0),
        ("('now'::text)::date", "date", None),
        ("'10.0.0.1'::inet", "inet", None),
    ],
)
def test_the_default_of_a_column_is_read_from_its_expression(expression: str, name: str, value: object):
    modifier = (4 << 16 | 2) + 4 if name == "numeric" else -1
    kind = kind_of(CatalogType(name, modifier), Handling())
    assert kind is not None
    assert default_of(expression, kind, name, "b") == value


def test_infinite_dates_are_those_of_debezium():
    """Debezium takes 5877611-06-21 and -5877611-06-22 for them."""
    infinite = ("infinity", "-infinity", None, "1970-01-02")
    for mode in (TimePrecision.ADAPTIVE, TimePrecision.ADAPTIVE_TIME_MICROSECONDS):
        assert _values(moments.date(mode), *infinite) == [2146033979, -2147472691, None, 1]
    assert _values(moments.date(TimePrecision.ISOSTRING), *infinite) == [
        "+5877611-06-21Z", "-5877611-06-22Z", None, "1970-01-02Z",
    ]  # fmt: skip


def test_connects_own_types_refuse_what_they_do_not_hold():
    for kind, text in (
        (moments.timestamp(6, TimePrecision.CONNECT), "infinity"),
        (moments.date(TimePrecision.CONNECT), "10000-01-01"),
        (moments.time(6, TimePrecision.CONNECT), "24:00:00"),
    ):
        with pytest.raises(Misfit, match=r"time\.precision\.mode=adaptive"):
            _values(kind, text)
