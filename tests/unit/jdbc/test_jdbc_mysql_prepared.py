"""Checks that rows of MariaDB's binary protocol give what the same values give as text, or are left to the text's
way.
"""

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.dialects.mysql.arrow import _columns, _native_columns
from connectors.jdbc.dialects.mysql.prepared import prepared, wires_of
from connectors.jdbc.native import module
from connectors.jdbc.values.byte_fields import PADDING
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import ColumnPlan, Raw

SCHEMAS = {
    Raw.INTEGER: s.INT64, Raw.BOOLEAN: s.BOOLEAN, Raw.FLOAT: s.FLOAT64, Raw.DECIMAL: s.decimal(0), Raw.TEXT: s.STRING,
    Raw.BYTES: s.BYTES, Raw.DATE: s.DATE_SCHEMA, Raw.TIME: s.TIME_SCHEMA, Raw.WALL_CLOCK: s.TIMESTAMP_SCHEMA,
    Raw.INSTANT: s.TIMESTAMP_SCHEMA,
}  # fmt: skip
NUMBERS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "g": "d"}
ZERO = (0, 0, 0)
DAYS = st.dates().map(lambda d: (d.year, d.month, d.day)) | st.sampled_from([ZERO, (2024, 0, 15), (2024, 2, 0)])
CLOCKS = st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999_999))


def integers(wire):
    size = struct.calcsize(NUMBERS[wire])
    low, high = (0, 2 ** (8 * size)) if wire.isupper() else (-(2 ** (8 * size - 1)), 2 ** (8 * size - 1))
    return st.integers(low, high - 1)


COLUMNS = st.one_of(
    *(st.tuples(st.just((Raw.INTEGER, wire)), st.just(integers(wire))) for wire in "cCsSiIl"),
    *(st.tuples(st.just((Raw.DECIMAL, wire)), st.just(integers(wire))) for wire in "lL"),
    st.just(((Raw.FLOAT, "g"), st.floats(allow_nan=False, allow_infinity=False))),
    st.just(((Raw.TEXT, "v"), st.text(max_size=300).map(str.encode))),
    st.just(((Raw.BYTES, "v"), st.binary(max_size=300))),
    st.just(((Raw.DATE, "t"), DAYS)),
    st.just(((Raw.WALL_CLOCK, "t"), st.tuples(DAYS, CLOCKS))),
    st.just(((Raw.INSTANT, "t"), st.tuples(DAYS, CLOCKS))),
    st.just(((Raw.TIME, "m"), CLOCKS)),
)


def counted(octets):
    return bytes([len(octets)]) + octets if len(octets) < 0xFB else b"\xfc" + struct.pack("<H", len(octets)) + octets


def value(raw, wire, given):
    """As a server writes it: the shortest form."""
    if wire in NUMBERS:
        return struct.pack(f"<{NUMBERS[wire]}", given)
    if wire == "v":
        return counted(given)
    if wire == "m":
        hours, minutes, seconds, us = given
        if given == (0, 0, 0, 0):
            return b"\0"
        return counted(struct.pack("<BIBBB", 0, 0, hours, minutes, seconds) + (struct.pack("<I", us) if us else b""))
    day, clock = (given, (0, 0, 0, 0)) if raw is Raw.DATE else given
    octets = struct.pack("<HBB", *day)
    if any(clock):
        octets += struct.pack("<BBB", *clock[:3]) + (struct.pack("<I", clock[3]) if clock[3] else b"")
    elif day == ZERO:
        octets = b""
    return counted(octets)


def packed(columns, rows):
    buffer, starts = bytearray(), []
    for row in rows:
        nulls = sum(1 << i + 2 for i, given in enumerate(row) if given is None)
        packet = b"\0" + nulls.to_bytes((len(columns) + 9) // 8, "little")
        packet += b"".join(
            value(*column, given) for column, given in zip(columns, row, strict=True) if given is not None
        )
        starts.append(len(buffer) + 4)
        buffer += struct.pack("<I", len(packet)) + packet
    return buffer + bytes(PADDING), np.array(starts, np.int64)


def read(columns, rows, cut=0):
    plans = [ColumnPlan(f"c{i}", raw, SCHEMAS[raw].as_optional()) for i, (raw, _) in enumerate(columns)]
    form = RowFormat("t", "t", plans, TimeRules(zone("UTC"), "connect_logical"))
    wires = "".join(wire for _, wire in columns)
    buffer, starts = packed(columns, rows)
    if cut:
        buffer[:4] = struct.pack("<I", struct.unpack("<I", buffer[:4])[0] - cut)
    return _native_columns(form, buffer, starts, len(columns), wires), lambda: _columns(
        form, buffer, starts, len(columns), wires
    )


@st.composite
def tables(draw):
    columns = draw(st.lists(COLUMNS, min_size=1, max_size=18))
    rows = draw(st.lists(st.tuples(*(st.none() | values for _, values in columns)), min_size=1, max_size=9))
    return [column for column, _ in columns], rows


needs_native = pytest.mark.skipif(
    module() is None, reason="NOT CHECKED: connectors.jdbc.native was not built; it needs a C++17 compiler at install"
)


@needs_native
@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(tables())
def test_values_are_those_of_the_twin(table):
    ours, twin = read(*table)
    assert ours is not None
    for mine, other in zip(ours, twin(), strict=True):
        mine.validate(full=True)
        assert mine.type == other.type
        assert mine.equals(other)


@needs_native
def test_numbers_and_times_are_what_the_server_holds():
    columns = [
        (Raw.INTEGER, "c"), (Raw.DECIMAL, "L"), (Raw.FLOAT, "g"), (Raw.WALL_CLOCK, "t"), (Raw.DATE, "t"),
        (Raw.TIME, "m"), (Raw.TEXT, "v"), (Raw.INTEGER, "I"),
    ]  # fmt: skip
    moment = ((2024, 2, 29), (23, 59, 58, 123_456))
    ours, _ = read(columns, [(-5, 2**64 - 1, 0.1, moment, (1969, 12, 31), (1, 2, 3, 4), "ü".encode(), None)])
    assert [str(column[0]) for column in ours] == [
        "-5", str(2**64 - 1), "0.1", "2024-02-29 23:59:58.123456", "1969-12-31", "01:02:03.000004", "ü", "None",
    ]  # fmt: skip


@needs_native
@pytest.mark.parametrize(
    ("column", "given"),
    [
        ((Raw.INTEGER, "L"), 2**63), ((Raw.DATE, "t"), (2024, 2, 30)), ((Raw.DATE, "t"), (0, 5, 5)),
        ((Raw.WALL_CLOCK, "t"), ((2024, 13, 1), (0, 0, 0, 0))), ((Raw.TEXT, "v"), b"\xff"),
    ],
)  # fmt: skip
def test_what_needs_a_closer_look_is_left_to_the_twin(column, given):
    ours, _ = read([column], [(given,)])
    assert ours is None


@needs_native
def test_a_value_that_does_not_fit_ends_as_an_error_that_names_the_column():
    ours, twin = read([(Raw.INTEGER, "l"), (Raw.INTEGER, "L")], [(1, 2**64 - 1)])
    assert ours is None
    with pytest.raises(SchemaError) as caught:
        twin()
    assert caught.value.field == "c1"


@needs_native
@pytest.mark.parametrize("cut", [1, 2, 8, 9, 20])
def test_a_value_that_ends_behind_its_packet_is_not_read(cut):
    ours, _ = read([(Raw.INTEGER, "l"), (Raw.TEXT, "v")], [(1, b"123456789")], cut=cut)
    assert ours is None


def field(code, flags=0, scale=0):
    return SimpleNamespace(type_code=code, flags=flags, scale=scale)


@pytest.mark.parametrize(
    ("fields", "raws", "wires"),
    [
        (
            [field(8), field(1, 0x20), field(5, scale=31)],
            [Raw.INTEGER, Raw.INTEGER, Raw.FLOAT],
            "lCg",
        ),
        ([field(253), field(246), field(252)], [Raw.TEXT, Raw.DECIMAL, Raw.BYTES], "vvv"),
        (
            [field(12), field(7), field(10), field(11)],
            [Raw.WALL_CLOCK, Raw.INSTANT, Raw.DATE, Raw.TIME],
            "tttm",
        ),
        ([field(13, 0x60)], [Raw.INTEGER], "S"),
        ([field(8), field(253)], [Raw.INTEGER], "lv"),
        ([field(5, scale=2)], [Raw.FLOAT], None),
        ([field(4, scale=31)], [Raw.FLOAT], None),
        ([field(3, 0x60)], [Raw.TEXT], None),
        ([field(13, 0x60)], [Raw.DECIMAL], None),
        ([field(12)], [Raw.TEXT], None),
        ([field(10)], [Raw.WALL_CLOCK], None),
        ([field(8), field(12)], [Raw.INTEGER], None),
        ([field(8)], [Raw.INTEGER, Raw.TEXT], None),
    ],
)
def test_what_a_number_would_say_otherwise_than_its_text_is_read_as_text(fields, raws, wires):
    assert wires_of(fields, raws) == wires


class Refusing:
    """A connection to a proxy that knows no prepared statements."""

    def __init__(self, code):
        self.code = code

    def _execute_command(self, command, sql):
        pass

    def _read_packet(self, kind=None):
        from pymysql.err import OperationalError

        raise OperationalError(self.code, "no")


@pytest.mark.parametrize("code", [1047, 1295, 1461])
def test_a_statement_that_cannot_be_prepared_is_read_as_text(code):
    assert prepared(Refusing(code), "SELECT 1", []) is None


def test_another_error_of_preparing_is_the_statements():
    from pymysql.err import OperationalError

    with pytest.raises(OperationalError, match="1146"):
        prepared(Refusing(1146), "SELECT 1", [])
