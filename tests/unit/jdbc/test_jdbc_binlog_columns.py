"""Columns of the binary log decoded by NumPy are what the text of each value gives."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import mysql as m

from connect.api.errors import SchemaError
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.dialects.mysql.arrow import text_column
from connectors.jdbc.log.binlog import columns as binlog_columns
from connectors.jdbc.log.binlog.columns import decoder, driver_columns
from connectors.jdbc.log.binlog.values import BINARY_SIZES, LoggedColumn, reader
from connectors.jdbc.values.byte_fields import PADDING, Fields
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.types import TypeRules, plan_column

TIMES = TimeRules(zone("UTC"), "micros_long", "null")
C = LoggedColumn("c")


def packed(layout, *ranges):
    return st.tuples(*(st.integers(0, top) for top in ranges)).map(layout)


def moment(parts):
    year, month, day, clock, fraction = parts
    number = ((year * 13 + month) << 5 | day) << 17 | (clock // 3600) << 12 | (clock // 60 % 60) << 6 | clock % 60
    return (number + 0x8000000000).to_bytes(5, "big") + fraction.to_bytes(3, "big")


def clock(parts):
    hours, rest, fraction, negative = parts
    number = (hours << 12 | rest // 60 << 6 | rest % 60) << 24 | fraction
    return ((0x800000 << 24) + (-number if negative else number)).to_bytes(6, "big")


def decimal(precision, scale):
    from test_jdbc_binlog import _decimal_bytes

    return st.integers(-(10**precision) + 1, 10**precision - 1).map(lambda n: _decimal_bytes(n, precision, scale))


def raw(size):
    return st.binary(min_size=size, max_size=size)


CASES = {
    "tinyint": (1, b"", C, m.TINYINT(), raw(1)),
    "tinyint unsigned": (1, b"", LoggedColumn("c", unsigned=True), m.TINYINT(unsigned=True), raw(1)),
    "smallint": (2, b"", C, m.SMALLINT(), raw(2)),
    "mediumint": (9, b"", C, m.MEDIUMINT(), raw(3)),
    "mediumint unsigned": (9, b"", LoggedColumn("c", unsigned=True), m.MEDIUMINT(unsigned=True), raw(3)),
    "int": (3, b"", C, m.INTEGER(), raw(4)),
    "int unsigned": (3, b"", LoggedColumn("c", unsigned=True), m.INTEGER(unsigned=True), raw(4)),
    "bigint": (8, b"", C, m.BIGINT(), raw(8)),
    "bigint unsigned": (8, b"", LoggedColumn("c", unsigned=True), m.BIGINT(unsigned=True), raw(8)),
    "float": (4, b"\x04", C, m.FLOAT(), st.floats(width=32, allow_nan=False).map(lambda v: struct.pack("<f", v))),
    "double": (5, b"\x08", C, m.DOUBLE(), st.floats(allow_nan=False).map(lambda v: struct.pack("<d", v))),
    "year": (13, b"", C, m.YEAR(), raw(1)),
    "decimal(12,2)": (246, b"\x0c\x02", C, m.DECIMAL(12, 2), decimal(12, 2)),
    "decimal(9,9)": (246, b"\x09\x09", C, m.DECIMAL(9, 9), decimal(9, 9)),
    "decimal(38,10)": (246, b"\x26\x0a", C, m.DECIMAL(38, 10), decimal(38, 10)),
    "decimal(65,30)": (246, b"\x41\x1e", C, m.DECIMAL(65, 30), decimal(65, 30)),
    "date": (
        10, b"", C, m.DATE(), packed(lambda p: (p[0] << 9 | p[1] << 5 | p[2]).to_bytes(3, "little"), 9999, 12, 31)
    ),
    "datetime(6)": (18, b"\x06", C, m.DATETIME(fsp=6), packed(moment, 9999, 12, 31, 86_399, 999_999)),
    "timestamp(6)": (
        17, b"\x06", C, m.TIMESTAMP(fsp=6),
        packed(lambda p: struct.pack(">I", p[0]) + (p[1] * bool(p[0])).to_bytes(3, "big"), 2**31 - 1, 999_999),
    ),
    "timestamp(1)": (
        17, b"\x01", C, m.TIMESTAMP(fsp=1), packed(lambda p: struct.pack(">IB", p[0], p[1] * 10 * bool(p[0])), 2**31, 9)
    ),
    "time(6)": (19, b"\x06", C, m.TIME(fsp=6), packed(clock, 23, 3599, 999_999, 0)),
    "a time outside a day": (19, b"\x06", C, m.TIME(fsp=6), packed(clock, 838, 3599, 999_999, 1)),
    "varchar": (15, b"\x50\x00", C, m.VARCHAR(20), st.text(max_size=40).map(str.encode)),
    "no utf-8": (15, b"\x50\x00", C, m.VARCHAR(20), st.binary(max_size=3)),
    "text of another set": (
        252, b"\x02", LoggedColumn("c", decode=lambda v: v.decode("cp1251")), m.TEXT(), st.just("ж".encode("cp1251"))
    ),
    "blob": (252, b"\x02", C, m.BLOB(), st.binary(max_size=50)),
    "binary(8)": (254, b"\xfe\x08", LoggedColumn("c", pad_bytes=8), m.BINARY(8), st.binary(max_size=8)),
    "enum": (254, b"\xf7\x01", LoggedColumn("c", members=("a", "é")), m.ENUM("a", "é"), packed(bytes, 2)),
    "set": (254, b"\xf8\x01", LoggedColumn("c", members=("a", "é")), m.SET("a", "é"), packed(bytes, 3)),
    "bit(1)": (16, b"\x01\x00", LoggedColumn("c", bits_as_number=True), m.BIT(1), packed(bytes, 1)),
    "bit(9)": (16, b"\x01\x01", C, m.BIT(9), raw(2)),
    "uuid": (254, b"\xfe\x10", LoggedColumn("c", kind="uuid", pad_bytes=16), m.CHAR(36), st.binary(max_size=16)),
    "inet6": (254, b"\xfe\x10", LoggedColumn("c", kind="inet6", pad_bytes=16), m.CHAR(39), st.binary(max_size=16)),
    "an int that is a varchar by now": (3, b"", C, m.VARCHAR(20), raw(4)),
    "a varchar that is an int by now": (15, b"\x50\x00", C, m.INTEGER(), st.integers(0, 99).map(lambda n: b"%d" % n)),
}  # fmt: skip


def fields_of(values):
    sizes = np.array([-1 if v is None else len(v) for v in values], np.int64)
    ends = np.cumsum(np.maximum(sizes, 0))
    return Fields(bytearray(b"".join(v or b"" for v in values) + bytes(PADDING)), ends - np.maximum(sizes, 0), sizes)


def built(form, columns):
    """The rows, or that they do not fit."""
    try:
        return form.of_driver_arrays(columns())
    except SchemaError as error:
        return error.field


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_column_is_what_the_text_of_its_values_gives(case, data):
    kind, meta, column, declared, stored = CASES[case]
    values = data.draw(st.lists(st.none() | stored, max_size=6))
    plan = plan_column(
        "c", declared, True, TypeRules(dialect_named("mariadb").types, granularity="micros_long", special_dates="null")
    )
    form = RowFormat("t", "t", [plan], TIMES)
    read = reader(kind, meta, column)
    decode = decoder(kind, meta, column, plan, read)
    by_column = built(form, lambda: driver_columns(form, [decode], [fields_of(values)]))
    texts = fields_of([None if v is None else read(v) for v in values])
    by_value = built(form, lambda: [form.guarded(plan, texts, text_column)])
    assert by_column == by_value


SLOW = {"set", "bit(9)", "inet6", "an int that is a varchar by now", "a varchar that is an int by now"}


def test_ordinary_columns_are_not_read_value_by_value():
    slow = set()
    for name, (kind, meta, column, declared, _) in CASES.items():
        plan = plan_column("c", declared, True, TypeRules(dialect_named("mariadb").types))
        if binlog_columns._fast(kind, meta, column, plan) is None:
            slow.add(name)
    assert slow == SLOW
    assert set(BINARY_SIZES) == {"uuid", "inet4", "inet6"}
    assert pa.types.is_string(binlog_columns._uuids(fields_of([b"1"])).type)
