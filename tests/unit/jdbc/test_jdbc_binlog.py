"""Checks the binary log: values as text, rows of all kinds, and positions that count within transactions."""

from __future__ import annotations

import struct
import zlib
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api.errors import ConnectError, SchemaError
from connectors.jdbc.log.binlog import packets as binlog
from connectors.jdbc.log.binlog.packets import Event, Operation
from connectors.jdbc.log.binlog.position import BinlogPosition, Row, Skipped, read_binlog_offset
from connectors.jdbc.log.binlog.row_layout import RowLayout, Width
from connectors.jdbc.log.binlog.values import BINARY_SIZES, LoggedColumn, reader, width

C = LoggedColumn("c")


def _read(kind, meta, data, column=C):
    stored = width(kind, meta)
    size = int.from_bytes(data[: stored.prefix], "little") if stored.prefix else stored.fixed
    assert len(data) == stored.prefix + size
    return reader(kind, meta, column)(data[stored.prefix :]).decode()


@pytest.mark.parametrize(
    ("kind", "meta", "data", "text"),
    [
        (1, b"", b"\xff", "-1"),
        (9, b"", b"\x00\x00\x80", "-8388608"),
        (8, b"", b"\xff" * 8, "-1"),
        (13, b"", b"\x00", "0"),
        (13, b"", b"\x7c", "2024"),
        (10, b"", (2024 << 9 | 2 << 5 | 29).to_bytes(3, "little"), "2024-02-29"),
        (10, b"", b"\x00\x00\x00", "0000-00-00"),
        (17, b"\x03", struct.pack(">I", 1) + b"\x04\xd2", "1970-01-01 00:00:01.123"),
        (17, b"\x00", b"\x00" * 4, "0000-00-00 00:00:00"),
        (18, b"\x00", b"\x80\x00\x00\x00\x00", "0000-00-00 00:00:00"),
        (19, b"\x00", bytes.fromhex("800001"), "00:00:01"),
        (19, b"\x02", bytes.fromhex("7ffffff6"), "-00:00:00.10"),
        (16, b"\x01\x01", b"\x01\x01", "\x01\x01"),
        (15, b"\x05\x00", b"\x02ab", "ab"),
        (15, b"\x00\x01", b"\x02\x00ab", "ab"),
        (252, b"\x02", b"\x03\x00abc", "abc"),
        (254, b"\xfe\x0c", b"\x02ab", "ab"),
        (254, b"\xee\x20", b"\x02\x00ab", "ab"),
    ],
)
def test_a_value_is_the_text_that_a_query_gives(kind, meta, data, text):
    assert _read(kind, meta, data) == text


def test_what_the_log_leaves_out_comes_from_the_catalog():
    assert _read(1, b"", b"\xff", LoggedColumn("c", unsigned=True)) == "255"
    members = LoggedColumn("c", members=("a", "b", "c"))
    assert [_read(254, b"\xf7\x01", bytes([n]), members) for n in (0, 2)] == ["", "b"]
    assert [_read(254, b"\xf8\x01", bytes([n]), members) for n in (0, 5)] == ["", "a,c"]
    assert (
        _read(15, b"\x05\x00", b"\x02\xe9\x80", LoggedColumn("c", decode=lambda value: value.decode("cp1252"))) == "é€"
    )


@pytest.mark.parametrize("kind", [244, 99])
def test_a_form_that_is_not_known_is_refused_by_the_columns_name(kind):
    with pytest.raises(SchemaError) as error:
        reader(kind, b"\xfe\x10", C)
    assert error.value.field == "c"


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("uuid", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("uuid", "", "00000000-0000-0000-0000-000000000000"),
        ("inet4", "0a", "10.0.0.0"),
        ("inet6", "", "::"),
        ("inet6", "00" * 15 + "01", "::1"),
        ("inet6", "20010db8" + "00" * 11 + "01", "2001:db8::1"),
        ("inet6", "2001" + "00" * 2 + "0001" * 6, "2001::1:1:1:1:1:1"),
        ("inet6", "0001000000000001000000000001", "1::1:0:0:1:0"),
        ("inet6", "00" * 10 + "ffff01020304", "::ffff:1.2.3.4"),
        ("inet6", "00" * 12 + "01020304", "::1.2.3.4"),
        ("inet6", "ffff" * 8, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ],
)
def test_addresses_and_uuids_have_the_servers_text_though_the_log_leaves_out_zeros_at_the_end(kind, data, text):
    column = LoggedColumn("c", kind=kind, pad_bytes=BINARY_SIZES[kind])
    assert reader(254, b"\xfe\x10", column)(bytes.fromhex(data)) == text.encode()


def _decimal_bytes(unscaled: int, precision: int, scale: int) -> bytes:
    """MySQL's decimal2bin, digit by digit."""
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4)
    digits = f"{abs(unscaled):0{precision}d}"
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    made = b""
    head = len(whole) % 9
    parts = [(whole[:head], sizes[head])] if head else []
    parts += [(whole[i : i + 9], 4) for i in range(head, len(whole), 9)]
    for i in range(0, len(fraction), 9):
        part = fraction[i : i + 9]
        parts.append((part, 4 if len(part) == 9 else sizes[len(part)]))
    for text, size in parts:
        made += int(text).to_bytes(size, "big")
    flipped = bytes(b ^ 0xFF for b in made) if unscaled < 0 else made
    return bytes([flipped[0] ^ 0x80]) + flipped[1:]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_decimals_of_any_size_keep_every_digit(data):
    precision = data.draw(st.integers(1, 65))
    scale = data.draw(st.integers(0, min(precision, 30)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    text = _read(246, bytes([precision, scale]), _decimal_bytes(unscaled, precision, scale))
    assert Decimal(text) == Decimal(f"{unscaled}e-{scale}")


def _event(kind: int, body: bytes) -> Event:
    return Event.of(struct.pack("<IBIIIH", 5, kind, 1, 19 + len(body), 100, 0) + body)


def _told(images):
    return [
        [None if f.size[row] < 0 else bytes(f.buffer[f.at[row] : f.at[row] + f.size[row]]) for f in images.columns]
        for row in range(int(images.per_event.sum()))
    ]


@pytest.mark.parametrize(("kind", "meta"), [(242, b"\x04"), (140, b"\x02"), (141, b"\x63\x00")])
def test_columns_behind_one_of_a_type_that_is_not_read_are_told(kind, meta):
    named = bytes(8) + b"\x02db\0\x01t\0"
    kinds, metas = bytes((kind, 15, 3)), meta + b"\x2c\x01"
    event = _event(19, named + b"\x03" + kinds + bytes((len(metas),)) + metas + b"\x04")
    mapped = binlog.table_map(event)
    assert mapped.metas == (meta, b"\x2c\x01", b"")
    assert mapped.nullable == (False, False, True)
    assert binlog.table_name(event) == ("db", "t")
    # The name can be read where the rest cannot.
    assert binlog.table_name(_event(19, named)) == ("db", "t")


def test_rows_of_inserts_updates_and_deletes():
    mapped = binlog.table_map(
        _event(19, bytes(6) + bytes(2) + b"\x02db\0\x01t\0" + b"\x02" + b"\x03\x0f" + b"\x02\x05\x00" + b"\x02")
    )
    assert (mapped.schema, mapped.table, mapped.kinds) == ("db", "t", b"\x03\x0f")
    layout = RowLayout([width(kind, meta) for kind, meta in zip(mapped.kinds, mapped.metas, strict=True)])
    head = bytes(6) + bytes(2) + b"\x02"
    one, two = b"\x00\x01\x00\x00\x00\x01x", b"\x02\x02\x00\x00\x00"
    events = [
        binlog.rows(_event(23, head + b"\x03" + one + two)),
        binlog.rows(_event(31, bytes(8) + b"\x02\x00\x02" + b"\x03\x03" + one + two)),
        binlog.rows(_event(25, head + b"\x03" + two)),
    ]
    assert [e.operation for e in events] == [Operation.INSERT, Operation.UPDATE, Operation.DELETE]
    images = layout.images([e.content for e in events])
    first, second = [struct.pack("<i", 1), b"x"], [struct.pack("<i", 2), None]
    assert _told(images) == [first, second, first, second, second]
    assert images.per_event.tolist() == [2, 2, 1]
    with pytest.raises(ConnectError, match="binlog_row_image"):
        binlog.rows(_event(25, head + b"\x01" + two))
    with pytest.raises(ConnectError, match="does not have the columns"):
        layout.images([one[:-1], two])
    with pytest.raises(ConnectError, match="does not have the columns"):
        layout.images([one] * 40 + [one[:-1]])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_values_are_found_whatever_the_rows_hold(data):
    widths = data.draw(st.lists(st.sampled_from([Width(1), Width(8), Width(prefix=1), Width(prefix=2)]), min_size=1))
    value = {
        w: st.none() | (st.binary(min_size=w.fixed, max_size=w.fixed) if w.fixed else st.binary(max_size=20))
        for w in widths
    }
    rows = data.draw(st.lists(st.tuples(*(value[w] for w in widths)), max_size=12))
    stored = []
    for row in rows:
        nulls = sum(1 << i for i, v in enumerate(row) if v is None)
        pairs = [(v, w) for v, w in zip(row, widths, strict=True) if v is not None]
        parts = [(len(v).to_bytes(w.prefix, "little") if w.prefix else b"") + v for v, w in pairs]
        stored.append(nulls.to_bytes((len(widths) + 7) // 8, "little") + b"".join(parts))
    split = data.draw(st.integers(0, len(rows)))
    parts = [b"".join(stored[:split]), b"".join(stored[split:])]
    images = RowLayout(widths).images(parts)
    assert _told(images) == [list(row) for row in rows]
    assert images.per_event.tolist() == [split, len(rows) - split]
    many = RowLayout(widths).images(parts * 16)
    assert _told(many) == [list(row) for row in rows] * 16
    assert many.per_event.tolist() == images.per_event.tolist() * 16


def test_a_compressed_transaction_is_its_events_with_the_place_behind_them_all():
    inner = [(2, b"BEGIN"), (30, b"rows" * 1000), (16, bytes(8))]
    packed = b"".join(struct.pack("<IBIIIH", 7, kind, 3, 19 + len(body), 0, 0) + body for kind, body in inner)
    stored = pa.compress(packed, codec="zstd", asbytes=True)
    fields = b"\x02\x01\x00" + b"\x03\x03\xfc" + struct.pack("<H", len(packed)) + b"\x01\x03\xfc"
    event = _event(40, fields + struct.pack("<H", len(stored)) + b"\x00" + stored)
    found = list(binlog.unpacked(event))
    assert [(e.kind, e.body, e.second, e.server_id, e.end) for e in found] == [
        (*pair, 7, 3, event.end) for pair in inner
    ]
    plain = _event(40, b"\x02\x03\xfc\xff\x00" + b"\x00" + packed)
    assert [e.kind for e in binlog.unpacked(plain)] == [2, 30, 16]
    with pytest.raises(ConnectError, match="binlog_transaction_compression"):
        list(binlog.unpacked(_event(40, b"\x02\x01\x07\x00")))


def test_partial_json_is_refused_with_the_setting():
    with pytest.raises(ConnectError, match="binlog_row_value_options"):
        _event(39, b"")


def test_rows_that_are_compressed_in_an_unknown_way_are_refused_with_the_setting():
    with pytest.raises(ConnectError, match="log_bin_compress"):
        binlog.rows(_event(166, bytes(8) + b"\x01\x01" + b"\x91\x05xxxxx"))


@pytest.mark.parametrize("record", [b"\x81\xff", b"\x81\x05xxxxx", b"\x81\x04", b"\x84\xff\xff\xff\xff"])
def test_rows_that_are_not_packed_as_they_say_are_refused(record):
    """A MiB of a log may unpack to a GiB: no more is unpacked than the event says."""
    packed = zlib.compress(bytes(50_000_000), 9)
    with pytest.raises(ConnectError, match="not packed as it says"):
        binlog.rows(_event(166, bytes(8) + b"\x01\x01" + record + packed))


@pytest.mark.parametrize("length", [0, 18, 0xFFFFFFFF])
def test_an_event_that_no_server_writes_is_refused(length):
    head = struct.pack("<IBIIIH", 7, 2, 3, length, 0, 0)
    with pytest.raises(ConnectError, match=f"event of {length} bytes"):
        list(binlog.unpacked(_event(40, b"\x02\x03\xfc\xff\x00" + b"\x00" + head)))


def test_positions_come_back_from_their_offsets():
    position = BinlogPosition("b.1", 4, {"0": "0-1-7", "3": "3-2-9"}, Row(1, 5), {"db.a": Row(3, 2)})
    assert read_binlog_offset(position.offset()) == position
    assert all(isinstance(value, str | int) for value in position.offset().values()), "an offset holds primitives only"
    assert position.behind(2) == {"db.a": Row(1, 2)}
    assert position.behind(3) == {}
    debezium = {"file": "b.2", "pos": 154, "gtids": "0-1-8", "event": 2, "row": 1, "server_id": 1, "ts_sec": 9}
    assert read_binlog_offset(debezium) == BinlogPosition("b.2", 154, {"0": "0-1-8"}, skipped=Skipped(2, 1))
    with pytest.raises(ValueError, match="file and pos"):
        read_binlog_offset({"file": "b.2"})
