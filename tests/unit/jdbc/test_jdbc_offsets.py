from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jdbc.follow import offsets
from connectors.jdbc.settings.table_choice import TableName


def text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize(
    ("written", "java"),
    [
        (offsets.table_partition(TableName("public", "orders")), '{"protocol":"1","table":"public.orders"}'),
        (offsets.old_table_partition(TableName("public", "orders")), '{"table":"orders"}'),
        (offsets.QUERY_PARTITION, '{"query":"query"}'),
        (offsets.incrementing(42), '{"incrementing":42}'),
        (offsets.timestamp(1_700_000_000_123_456), '{"timestamp_nanos":123456000,"timestamp":1700000000123}'),
        (
            offsets.timestamp_incrementing(1_700_000_000_123_456, 42),
            '{"timestamp_nanos":123456000,"incrementing":42,"timestamp":1700000000123}',
        ),
    ],
)
def test_partitions_and_offsets_have_javas_bytes(written, java):
    assert text(written) == java


@given(st.integers(-(10**16), 10**16))
def test_an_instant_comes_back_as_it_was_stored(instant):
    assert offsets.instant_us_of(offsets.timestamp(instant)) == instant
    with_tie = offsets.timestamp_with_tie(instant, instant + 1, (7,))
    assert offsets.instant_us_of(with_tie) == instant
    assert offsets.tie_of(json.loads(text(with_tie))) == (instant + 1, (7,))


def test_javas_offset_without_nanoseconds_is_read():
    assert offsets.instant_us_of({"timestamp": 1_700_000_000_123}) == 1_700_000_000_123_000


def test_finer_digits_are_cut_so_that_rows_repeat_rather_than_vanish():
    assert offsets.instant_us_of({"timestamp_nanos": 999, "timestamp": 0}) == 0


@pytest.mark.parametrize("offset", [None, {}, {"incrementing": "x"}, {"incrementing": True}])
def test_what_is_no_offset_is_none(offset):
    assert offsets.id_of(offset) is None
    assert offsets.instant_us_of(offset) is None
    assert offsets.bulk_key_of(offset) is None
    assert offsets.bulk_finished_ms_of(offset) is None


def test_a_bulk_pass_is_under_way_or_finished():
    assert offsets.bulk_key_of(offsets.bulk_progress((1, "a"), 10)) == (1, "a")
    assert offsets.bulk_finished_ms_of(offsets.bulk_finished(5, 10)) == 5
