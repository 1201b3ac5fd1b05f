"""Stored offsets that somebody else may have written."""

from __future__ import annotations

import pytest

from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.stored_offsets import StoredOffsets, broken_members

MARK = {"timestamp_nanos": 123_456_000, "incrementing": 42, "timestamp": 1_700_000_000_123}


@pytest.mark.parametrize(
    "offset",
    [
        MARK,
        {"incrementing": -(2**63)},
        {"timestamp": -1, "other": object()},
        {"incrementing": None},
        offsets.timestamp_with_tie(5, 6, ("a", 1, 1.5, None)),
        offsets.bulk_progress((2**63 - 1, "'; DROP TABLE t"), 7),
        offsets.bulk_finished(1_700_000_000_123, 0),
        offsets.initial_read(MARK, (-5, 2**63)),
        offsets.safe_pass(MARK, "5:9:6,7", "9:9:", MARK, server="1.5 7/1", table=16_400),
        offsets.safe_pass({}, None, "9:9:"),
    ],
)
def test_what_was_stored_comes_back_whole(offset):
    assert broken_members(offset) == {}
    assert StoredOffsets(lambda _partition: offset)({"protocol": "1", "table": "t"}) == offset


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("incrementing", ["42", 1.0, True, 2**63, -(2**63) - 1, [1]]),
        ("timestamp", ["0", 10**18, -(10**18)]),
        ("timestamp_nanos", [-1, 10**9]),
        ("tie_timestamp_us", [10**25, "5"]),
        ("tie_key", ["", "17", "[[1]]", "[{}]", f"[{2**63}]", "[" * 10_000, 5]),
        ("bulk_last_key", ["garbage", '{"a":1}', "null"]),
        ("bulk_pass_finished_ms", [-1, 10**40]),
        ("rows", ["x", -1]),
        ("initial_read", ["x", "[]", '{"mark":5,"bounds":[]}', '{"mark":{},"bounds":[]}', '{"mark":{"timestamp":1}}']),
        ("initial_read", ['{"mark":{"timestamp":"1"},"bounds":[]}', '{"mark":{"timestamp":1},"bounds":["1); DROP"]}']),
        ("safe_pass", ["x", "[]", '{"ended":5}', '{"ended":"1:2:3); DROP"}', '{"ended":"5:2:"}', '{"pass":"1:2"}']),
        (
            "safe_pass",
            [
                '{"at":"x"}',
                '{"at":{"incrementing":"1"}}',
                '{"server":7}',
                '{"table":"t"}',
                f'{{"ended":"1:{10**19}:"}}',
            ],
        ),
    ],
)
def test_what_nobody_can_have_stored_is_left_out_and_told_once(name, values, caplog: pytest.LogCaptureFixture):
    for number, value in enumerate(values):
        stored = StoredOffsets(lambda _partition, value=value: {"other": 1, name: value})
        for _ in range(2):
            assert stored({"table": f"t{number}"}) == {"other": 1}
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(values)
    assert all(f"of table t{number} has {name} " in line for number, line in enumerate(lines))
    assert "DROP" not in caplog.text


def test_a_range_holds_the_mark_alone():
    range_ = offsets.range_progress(MARK, (5,))
    assert broken_members(range_, of_range=True) == {}
    known = StoredOffsets(lambda _partition: range_)({"table": "t", "range": 1})
    assert offsets.range_progress_of(known, MARK) == (5,)


def test_an_offset_without_a_usable_member_is_none():
    assert StoredOffsets(lambda _partition: {"incrementing": "1"})({"query": "query"}) is None
    assert StoredOffsets(lambda _partition: None)({"query": "query"}) is None
