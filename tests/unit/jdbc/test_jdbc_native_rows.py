"""Native code makes of the text protocol's rows what NumPy makes of them, or leaves them to it."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.dialects.mysql.arrow import _native_columns, driver_columns
from connectors.jdbc.native import module
from connectors.jdbc.values.byte_fields import PADDING, counted_fields
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import ColumnPlan, Raw

pytestmark = pytest.mark.skipif(
    module() is None, reason="NOT CHECKED: connectors.jdbc.native was not built; it needs a C++17 compiler at install"
)
SCHEMAS = {
    Raw.INTEGER: s.INT64, Raw.BOOLEAN: s.BOOLEAN, Raw.FLOAT: s.FLOAT64, Raw.DECIMAL: s.decimal(2), Raw.TEXT: s.STRING,
    Raw.BYTES: s.BYTES, Raw.DATE: s.DATE_SCHEMA, Raw.TIME: s.TIME_SCHEMA, Raw.WALL_CLOCK: s.TIMESTAMP_SCHEMA,
    Raw.INSTANT: s.TIMESTAMP_SCHEMA,
}  # fmt: skip
FRACTION = (
    st.integers(0, 6).flatmap(lambda n: st.text("0123456789", min_size=n, max_size=n)).map(lambda f: f and f".{f}")
)
DATES = st.dates().map(str) | st.sampled_from(["0000-00-00", "2024-00-15", "2024-02-00", "0000-00-01", "9999-12-31"])
TIMES = st.times().map(lambda t: t.strftime("%H:%M:%S"))
MOMENTS = st.builds(lambda d, t, f: f"{d} {t}{f}", DATES, TIMES, FRACTION)
TEXTS = {
    Raw.INTEGER: st.integers(-(2**63), 2**63 - 1).map(str), Raw.BOOLEAN: st.sampled_from("01"),
    Raw.FLOAT: st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.sampled_from(["1e20", "-0", "1.5e-300"]),
    Raw.DECIMAL: st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
    Raw.TEXT: st.text(max_size=300), Raw.BYTES: st.binary(max_size=300), Raw.DATE: DATES,
    Raw.TIME: st.builds(lambda t, f: t + f, TIMES, FRACTION), Raw.WALL_CLOCK: MOMENTS, Raw.INSTANT: MOMENTS,
}  # fmt: skip


def form_of(raws):
    plans = [ColumnPlan(f"c{i}", raw, SCHEMAS[raw].as_optional()) for i, raw in enumerate(raws)]
    return RowFormat("t", "t", plans, TimeRules(zone("UTC"), "connect_logical"))


def counted(value):
    if value is None:
        return b"\xfb"
    octets = value if isinstance(value, bytes) else value.encode()
    if len(octets) < 0xFB:
        return bytes([len(octets)]) + octets
    return b"\xfc" + struct.pack("<H", len(octets)) + octets


def packed(rows):
    buffer, starts = bytearray(), []
    for row in rows:
        packet = b"".join(map(counted, row))
        starts.append(len(buffer) + 4)
        buffer += struct.pack("<I", len(packet)) + packet
    return buffer + bytes(PADDING), np.array(starts, np.int64)


def both(raws, rows):
    form, (buffer, starts) = form_of(raws), packed(rows)
    ours = _native_columns(form, buffer, starts, len(raws))
    return ours, lambda: driver_columns(form, counted_fields(buffer, starts, len(raws)))


@st.composite
def tables(draw):
    raws = draw(st.lists(st.sampled_from(list(TEXTS)), min_size=1, max_size=6))
    rows = draw(st.lists(st.tuples(*(st.none() | TEXTS[raw] for raw in raws)), min_size=1, max_size=12))
    return raws, rows


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(tables())
def test_values_are_those_of_the_twin(table):
    ours, twin = both(*table)
    assert ours is not None
    for mine, other in zip(ours, twin(), strict=True):
        mine.validate(full=True)
        assert mine.type == other.type
        assert mine.equals(other)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (Raw.INTEGER, "9223372036854775808"), (Raw.INTEGER, "1.5"), (Raw.INTEGER, ""), (Raw.INTEGER, " 1"),
        (Raw.FLOAT, "1,5"), (Raw.DATE, "2024-02-30"), (Raw.DATE, "2024-13-01"), (Raw.DATE, "2024-1-1"),
        (Raw.WALL_CLOCK, "2024-02-30 00:00:00"), (Raw.WALL_CLOCK, "2024-01-01 24:00:00"),
        (Raw.INSTANT, "2024-01-01"), (Raw.INSTANT, "2024-01-01 00:00:00."), (Raw.WALL_CLOCK, "0000-05-05 00:00:00"),
        (Raw.INSTANT, "2024-01-01 00:00:00.1234567"),
        (Raw.TEXT, b"\xff"), (Raw.TEXT, b"\xed\xa0\x80"), (Raw.TEXT, b"\xc0\x80"), (Raw.TEXT, b"ok\xf4\x90\x80\x80"),
    ],
)  # fmt: skip
def test_what_needs_a_closer_look_is_left_to_the_twin(raw, text):
    ours, _ = both([raw], [(text,)])
    assert ours is None


def test_text_that_is_no_utf8_ends_as_an_error_that_names_the_column():
    ours, twin = both([Raw.INTEGER, Raw.TEXT], [("1", b"\xff")])
    assert ours is None
    with pytest.raises(SchemaError) as caught:
        twin()
    assert caught.value.field == "c1"


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_value_that_ends_behind_its_packet_is_not_read(cut):
    buffer, starts = packed([("12345678", "x" * 300)])
    buffer[:4] = struct.pack("<I", struct.unpack("<I", buffer[:4])[0] - cut)
    assert module().read_text_rows(buffer, starts, "lu") is None


def test_rows_are_found_up_to_the_first_packet_that_is_not_whole_or_no_row():
    buffer, starts = packed([("1",), ("2",), ("3",)])
    end = int(starts[-1]) + 2
    find = module().find_rows
    assert find(buffer, 0, end, 10) == (starts.tobytes(), end, False)
    assert find(buffer, 0, end - 1, 10) == (starts[:2].tobytes(), int(starts[2]) - 4, False)
    assert find(buffer, 0, end, 2) == (starts[:2].tobytes(), int(starts[2]) - 4, False)
    buffer[int(starts[1])] = 0xFE
    assert find(buffer, 0, end, 10) == (starts[:1].tobytes(), int(starts[1]) - 4, True)
