"""Rows become the columns of a table as in Apache's sink: unknown fields, narrower numbers, texts of times."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_lake import Lake, soon, values

from connect.api import schema as s
from connect.api.errors import RejectedRowsError
from connect.testing.fakes import FakeSinkContext
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.settings.iceberg_sink_config import IcebergSinkConfig

UTC_US, LOCAL_US = pa.timestamp("us", "UTC"), pa.timestamp("us")
MOMENT = dt.datetime(2026, 3, 1, 10, 20, 30, 123456, tzinfo=dt.UTC)
CONVERTED: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int32(), 5, 5),
    (pa.int32(), "-7", -7),
    (pa.int64(), "+12", 12),
    (pa.int64(), 5.0, 5),
    (pa.float32(), 0.1, 0.10000000149011612),
    (pa.float64(), "1.5e3", 1500.0),
    (pa.float64(), 3, 3.0),
    (pa.bool_(), "TRUE", True),
    (pa.bool_(), "yes", False),
    (pa.string(), 12, "12"),
    (pa.string(), True, "true"),
    (pa.string(), 1e10, "1.0E10"),
    (pa.string(), {"a": 1, "b": [True]}, '{"a":1,"b":[true]}'),
    (pa.decimal128(9, 2), "12.345", Decimal("12.35")),
    (pa.decimal128(9, 2), 0.125, Decimal("0.13")),
    (pa.decimal128(9, 2), 7, Decimal("7.00")),
    (pa.date32(), "2026-03-01", dt.date(2026, 3, 1)),
    (pa.date32(), 1, dt.date(1970, 1, 2)),
    (pa.time64("us"), "10:20", dt.time(10, 20)),
    (pa.time64("us"), "10:20:30.123456789", dt.time(10, 20, 30, 123456)),
    (pa.time64("us"), 1500, dt.time(0, 0, 1, 500000)),
    (UTC_US, "2026-03-01T10:20:30.123456Z", MOMENT),
    (UTC_US, "2026-03-01 12:20:30.123456+02:00", MOMENT),
    (UTC_US, "2026-03-01T12:20:30.123456+0200", MOMENT),
    (UTC_US, "2026-03-01T10:20:30.123456", MOMENT),
    (UTC_US, 1_000, dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
    (LOCAL_US, "2026-03-01T10:20:30.123456", MOMENT.replace(tzinfo=None)),
    (LOCAL_US, "2026-03-01T10:20:30.123456+02:00", MOMENT.replace(tzinfo=None)),
    (pa.binary(), "AAEC", b"\x00\x01\x02"),
    (pa.struct([("a", pa.int32())]), {"a": 3, "more": 1}, {"a": 3}),
    (pa.list_(pa.int32()), ["1", "2"], [1, 2]),
]  # fmt: skip
REFUSED: list[tuple[pa.DataType, Any]] = [
    (pa.int32(), 2**31),
    (pa.int32(), "0x10"),
    (pa.int64(), 5.5),
    (pa.int64(), "1_000"),
    (pa.float32(), 1e39),
    (pa.float64(), "1_0.5"),
    (pa.decimal128(5, 2), "12345.67"),
    (pa.date32(), "2026-3-1"),
    (pa.date32(), "2026-02-30"),
    (pa.time64("us"), "25:00"),
    (UTC_US, "2026-03-01"),
    (UTC_US, "yesterday"),
    (UTC_US, 2**62),
    (pa.binary(), "?"),
    (pa.struct([("a", pa.int32())]), "{}"),
]


class Lakehouse:
    """A table `lake.orders` with a column `v` of a type, and a task of Apache's keys."""

    def __init__(self, folder: Path, *columns: tuple[str, pa.DataType], **keys: str) -> None:
        (folder / "topics").mkdir()
        self.lake = Lake(folder)
        self.lake.catalog().create_namespace("lake")
        self.lake.catalog().create_table("lake.orders", pa.schema(list(columns)))
        self.context = FakeSinkContext()
        self.task = IcebergSinkTask(IcebergSinkConfig.parse({
            "iceberg.catalog.type": "jdbc", "iceberg.catalog.uri": f"jdbc:sqlite:{folder}/catalog.db",
            "iceberg.catalog.warehouse": (folder / "topics").as_uri(), "s3.local.folders": str(folder),
            "iceberg.control.commit.interval-ms": "1", "iceberg.tables": "lake.orders", **keys,
        }), now_ms=lambda: self.lake.clock_ms)  # fmt: skip
        self.task.open(self.context)

    def rows(self) -> list[dict[str, Any]]:
        self.lake.flush(self.task)
        self.task.close()
        return self.lake.table().to_pylist()


@pytest.mark.parametrize(("kind", "given", "wanted"), CONVERTED)
def test_values_become_a_columns_type_as_in_java(tmp_path, kind, given, wanted):
    house = Lakehouse(tmp_path, ("v", kind))
    house.task.put(values([{"v": given}, {"v": None}]), soon())
    assert house.rows() == [{"v": wanted}, {"v": None}]


def test_values_in_structs_in_lists_are_converted(tmp_path):
    house = Lakehouse(tmp_path, ("v", pa.list_(pa.struct([("a", UTC_US)]))))
    house.task.put(values([{"v": [{"a": "2026-03-01T10:20:30.123456Z", "more": 1}]}, {"v": []}]), soon())
    assert house.rows() == [{"v": [{"a": MOMENT}]}, {"v": []}]


@pytest.mark.parametrize(("kind", "given"), REFUSED)
def test_a_value_that_a_column_cannot_hold_is_one_bad_row(tmp_path, kind, given):
    house = Lakehouse(tmp_path, ("n", pa.int32()), ("v", kind))
    with pytest.raises(RejectedRowsError) as raised:
        house.task.put(values([{"n": 1}, {"n": 2}, {"n": 3, "v": given}, {"n": 4}]), soon())
    assert set(raised.value.rows) == {2}
    assert raised.value.rows[2].field == "v"
    assert house.rows() == [{"n": n, "v": None} for n in (1, 2, 4)]


@pytest.mark.parametrize("schema", [None, s.struct({"n": s.INT64, "new": s.STRING, "in": s.struct({"x": s.INT64})})])
def test_fields_that_a_table_lacks_are_left_out_with_a_note(tmp_path, schema):
    house = Lakehouse(tmp_path, ("n", pa.int32()), ("in", pa.struct([("y", pa.int32())])))
    house.task.put(values([{"n": n, "new": "x", "in": {"x": 1}} for n in range(3)], schema=schema), soon())
    assert house.rows() == [{"n": n, "in": {"y": None}} for n in range(3)]
    assert house.context.noted[0].startswith("Table lake.orders lacks the fields new, in.x: rows are written without")


def test_a_row_of_unknown_fields_alone_is_a_row_of_nulls(tmp_path):
    house = Lakehouse(tmp_path, ("n", pa.int32()))
    house.task.put(values([{"new": 1}]), soon())
    assert house.rows() == [{"n": None}]


def test_with_evolution_columns_are_added_and_widened_and_texts_converted(tmp_path):
    house = Lakehouse(
        tmp_path, ("n", pa.int32()), ("at", UTC_US), **{"iceberg.tables.evolve-schema-enabled": "true"}
    )  # fmt: skip
    house.task.put(values([{"n": 2**40, "at": "2026-03-01T10:20:30.123456Z", "new": "x"}]), soon())
    assert house.rows() == [{"n": 2**40, "at": MOMENT, "new": "x"}]
    assert house.context.noted == ()
