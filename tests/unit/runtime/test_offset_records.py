"""Bytes of the offsets topic, as Java writes and reads them."""

import datetime as dt

import pytest

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connect.runtime.source.offset_records import OffsetTable, decode_key, encode_key, encode_value


def test_keys_are_compact_json_in_the_order_given():
    key = encode_key("s1", {"protocol": "1", "table": "public.orders"})
    assert key == b'["s1",{"protocol":"1","table":"public.orders"}]'


def test_characters_beyond_the_bmp_become_two_upper_case_escapes():
    assert encode_key("ü", {"f": "\U0001f600"}) == '["ü",{"f":"\\uD83D\\uDE00"}]'.encode()


def test_a_removed_offset_is_a_tombstone():
    assert encode_value("c", None) is None


def test_offsets_hold_primitives_only():
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    with pytest.raises(ConnectError, match="'when' has type datetime"):
        encode_value("c", {"when": moment})


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b'["a"]', b'{"a":1}', b"\xff", b'["a",{"f":"\\ud83d"}]', b'["a",{"f":[1]}]', b'["a",{"f":' * 10_000],
)
def test_garbage_keys_are_recognised(garbage):
    assert decode_key(garbage) is None


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**64])
def test_a_number_that_nobody_could_read_again_is_not_stored(value):
    with pytest.raises(ConnectError, match="'id' is a number of more than 64 bits"):
        OffsetTable().record("c", SourcePosition({"table": "t"}, {"id": value}))


@pytest.mark.parametrize("value", [-(2**63), 2**64 - 1])
def test_the_largest_numbers_are_read_again(value):
    table = OffsetTable()
    assert table.apply(*table.record("c", SourcePosition({"table": "t"}, {"id": value})))
    assert table.get("c", {"table": "t"}) == {"id": value}


def test_a_stored_key_is_written_again_with_the_same_bytes():
    table = OffsetTable()
    stored = b'["c", {"table":"t",  "protocol":"1"}]'
    assert table.apply(stored, b'{"incrementing":42}')
    assert table.get("c", {"protocol": "1", "table": "t"}) == {"incrementing": 42}
    key, value = table.record("c", SourcePosition({"protocol": "1", "table": "t"}, {"incrementing": 43}))
    assert key == stored
    assert value == b'{"incrementing":43}'


def test_a_tombstone_removes_the_offset():
    table = OffsetTable()
    key = encode_key("c", {"f": 1})
    table.apply(key, b'{"p":1}')
    table.apply(key, None)
    assert table.get("c", {"f": 1}) is None
    assert table.of_connector("c") == []


def test_connectors_do_not_see_each_other():
    table = OffsetTable()
    table.apply(encode_key("a", {"f": 1}), b'{"p":1}')
    assert table.get("b", {"f": 1}) is None
    assert table.of_connector("a") == [SourcePosition({"f": 1}, {"p": 1})]


@pytest.mark.parametrize(
    "garbage", [b"5", b'{"p":"\\ud83d"}', b'{"p":{}}', b'{"p":1%s}' % (b"0" * 30), b'{"p":' * 10_000]
)
def test_an_offset_that_nobody_can_have_stored_leaves_the_one_before_it(garbage):
    table = OffsetTable()
    key = encode_key("a", {"f": 1})
    assert table.apply(key, b'{"p":1}')
    assert not table.apply(key, garbage)
    assert table.get("a", {"f": 1}) == {"p": 1}


@pytest.mark.parametrize("removes", [False, True])
@pytest.mark.parametrize("is_read_first", ["old", "new"])
def test_of_records_in_two_partitions_the_later_one_counts_in_whichever_order_they_are_read(removes, is_read_first):
    """The offsets topic was given more partitions meanwhile, and the key belongs to another one by that."""
    table, key = OffsetTable(), encode_key("c", {"f": 1})
    old = {"value": b'{"p":1}', "partition": 7, "timestamp_ms": 1000}
    new = {"value": None if removes else b'{"p":2}', "partition": 31, "timestamp_ms": 2000}
    for record in (old, new) if is_read_first == "old" else (new, old):
        assert table.apply(key, **record)
    assert table.get("c", {"f": 1}) == (None if removes else {"p": 2})
    assert len(table.of_connector("c")) == (0 if removes else 1)


def test_within_a_partition_the_later_record_counts_whatever_its_time_is():
    table, key = OffsetTable(), encode_key("c", {"f": 1})
    table.apply(key, b'{"p":1}', partition=7, timestamp_ms=2000)
    table.apply(key, b'{"p":2}', partition=7, timestamp_ms=1000)
    assert table.get("c", {"f": 1}) == {"p": 2}


def test_what_removed_an_offset_is_kept_for_as_long_as_kafka_keeps_it():
    """Where offsets of ever new places are removed again and again, what removed them would fill the memory."""
    now_s = [1000.0]
    table, again, kept = OffsetTable(clock=lambda: now_s[0]), encode_key("c", {"f": "again"}), encode_key("c", {"f": 1})
    table.apply(kept, b'{"p":1}')
    for number in range(200):
        now_s[0] += 3600
        key = encode_key("c", {"f": f"place {number}"})
        table.apply(key, b'{"p":1}', timestamp_ms=number)
        table.apply(key, None, timestamp_ms=number)
        table.apply(again, None)
        table.apply(again, b'{"p":2}')
    assert 24 < len(table._stored) < 28
    assert table.of_connector("c") == [SourcePosition({"f": 1}, {"p": 1}), SourcePosition({"f": "again"}, {"p": 2})]
    table.apply(key, b'{"p":1}', partition=7, timestamp_ms=1)
    assert table.get("c", {"f": "place 199"}) is None, "an older record in another partition is still known as such"
