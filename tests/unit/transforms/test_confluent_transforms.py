"""Confluent's Filter and MessageTimestampRouter do what its documentation says, by Jayway's paths."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from both_forms import batch_of, both, build, result, same

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.api.records import Column
from connect.lib.javatext.timed_pattern import PatternTimeoutError

ORDERS = s.struct({"id": s.INT64, "amount": s.FLOAT64.as_optional(), "product": s.STRING.as_optional()})
ROWS = [
    {"id": 1, "amount": 30.0, "product": "Oat Stout"}, {"id": 2, "amount": 50.5, "product": "Stout x"},
    {"id": 3, "amount": None, "product": None},
]  # fmt: skip


def _kept(condition: str, kind: str = "include", rows: list[Any] = ROWS) -> Any:
    config = {"filter_condition": condition, "filter_type": kind}
    return [found[2]["id"] for found in same("Filter$Value", rows, ORDERS, **config)]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("$[?(@.amount < 42)]", [1]),
        ("$.[?(@.amount > 42)]", [2]),
        ("$[?(@.product =~ /.*Stout/)]", [1]),
        ("$[?(@.product =~ /oat.*/i)]", [1]),
        ("$[?(@.amount < 42 || @.product == 'Stout x')]", [1, 2]),
        ("$[?(!(@.amount < 42))]", [2, 3]),
        ("$[?(@.id in [1, 3])]", [1, 3]),
        ("$[?(@.amount)]", [1, 2, 3]),
        ("$.id", [1, 2, 3]),
    ],
)
def test_rows_that_a_path_finds_are_kept_or_dropped(condition: str, kept: list[int]):
    assert _kept(condition) == kept
    assert _kept(condition, "exclude") == [n for n in (1, 2, 3) if n not in kept]


def _of_maps(rows: list[Any], **config: str) -> Any:
    given = {"filter_condition": "$.key[?(@.nested == 'a' || @.nested == 'b')]", "filter_type": "include", **config}
    return result(build("Filter$Value", **given), batch_of(Column.from_rows(rows, None)))


def test_what_the_path_names_before_its_filter_must_be_there_unless_told():
    rows = [{"key": {"nested": "a"}}, {"key": {"nested": "c"}}, {"key": None}, {}, None, {"key": [{"nested": "b"}]}]
    refused = _of_maps(rows)
    assert sorted(refused) == [2, 3, 4]
    assert "names key, which the value lacks" in refused[3]
    assert [found[2] for found in _of_maps(rows, missing_or_null_behavior="exclude")] == [rows[0], rows[5]]
    kept = [found[2] for found in _of_maps(rows, missing_or_null_behavior="include")]
    assert kept == [rows[0], rows[2], rows[3], rows[4], rows[5]]


def test_the_key_is_asked_where_it_is_the_keys():
    batch = batch_of(Column.from_rows([{"n": 1}, {"n": 2}], None))
    for condition, kept in (("$", ["k0", "k1"]), ("$[?(@.n == 1)]", [])):
        keyed = build("Filter$Key", filter_condition=condition, filter_type="include")
        assert [found[1] for found in result(keyed, batch)] == kept


@pytest.mark.parametrize(
    "condition", ["amount > 3", "$[?(@.amount <]", "$[?(@.a =~ /(/)]", "$[?match(@.a, 'x')]", "$[?(nope)]"]
)
def test_what_is_no_path_is_told(condition: str):
    with pytest.raises(ConfigError) as caught:
        build("Filter$Value", filter_condition=condition, filter_type="include")
    (problem,) = caught.value.problems
    assert problem.key == "filter.condition"
    assert "not a JSONPath" in problem.message


def test_a_pattern_that_repeats_what_repeats_is_given_up():
    batch = both([{"id": 1, "amount": 1.0, "product": "a" * 40 + "b"}], ORDERS)[0]
    slow = build("Filter$Value", filter_condition="$[?(@.product =~ /(a|aa)+/)]", filter_type="include")
    with pytest.raises(PatternTimeoutError):
        slow.apply(batch)


def _topics(rows: list[Any], **config: str) -> Any:
    given = {"message_timestamp_keys": "at,ts", "message_timestamp_format": "yyyy-MM-dd HH:mm:ss", **config}
    return result(build("MessageTimestampRouter", **given), batch_of(Column.from_rows(rows, None)))


def test_rows_go_to_the_topics_of_the_first_field_that_they_have():
    moment = datetime(2024, 2, 29, 23, 0, tzinfo=UTC)
    rows = [
        {"at": "2024-02-29 13:14:15"}, {"at": None, "ts": 1_709_251_199_000}, {"ts": "2023-01-02 00:00:00"},
        {"at": moment},
    ]  # fmt: skip
    found = _topics(rows, topic_format="x-${topic}-${timestamp}")
    assert [(topic, value) for topic, _, value, *_ in found] == [
        ("x-t-20240229", rows[0]), ("x-t-20240229", rows[1]), ("x-t-20240229", rows[3]), ("x-t-20230102", rows[2]),
    ]  # fmt: skip


def test_rows_without_a_time_are_refused_one_by_one():
    refused = _topics([{"at": "soon"}, {}, None, {"at": True}, {"at": 5}])
    assert sorted(refused) == [0, 1, 2, 3]
    assert "'soon', which is no time" in refused[0]
    assert "none of the fields at, ts" in refused[1]


def test_a_format_of_another_kind_is_told_by_its_key():
    with pytest.raises(ConfigError) as caught:
        build("MessageTimestampRouter", message_timestamp_keys="", topic_timestamp_format="bbb")
    assert {problem.key for problem in caught.value.problems} == {"message.timestamp.keys", "topic.timestamp.format"}
