"""Moves rows between connectors and frames without a JVM: types, options, places of a write, and replays of a
stream.
"""

from __future__ import annotations

import datetime as dt
import pickle
import sqlite3
import threading
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.api.plugin import PluginKind
from connect.api.records import Batch, Column
from connect.spark.columns import connector_rows, frame_rows, frame_schema, frame_type, keys_of
from connect.spark.options import FrameOptions
from connect.spark.stream_reader import ConnectStreamReader
from connect.spark.writer import Place

NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 5000, dt.UTC)
ROW = {
    "b": True, "i8": 1, "i64": 2**60, "f": 0.5, "s": "naïve", "raw": b"\0", "d": Decimal("1.50"),
    "day": dt.date(2026, 1, 2), "at": NOON, "time": dt.time(1, 2, 3, 4000), "list": [1, None],
    "map": [("k", 1)], "in": {"x": NOON},
}  # fmt: skip
TYPES = pa.struct(
    {
        "b": pa.bool_(), "i8": pa.int8(), "i64": pa.int64(), "f": pa.float32(), "s": pa.string(), "raw": pa.binary(),
        "d": pa.decimal128(5, 2), "day": pa.date32(), "at": pa.timestamp("ms", "UTC"), "time": pa.time32("ms"),
        "list": pa.list_(pa.int32()), "map": pa.map_(pa.string(), pa.int64()),
        "in": pa.struct({"x": pa.timestamp("ms", "UTC")}),
    }
)  # fmt: skip


def source(file: Path, **others: str) -> FrameOptions:
    given = {"connector.class": "FileStreamSource", "topic": "t", "file": str(file), "batch.size": "4"}
    own = {f"connect.{name}".replace("_", "."): text for name, text in others.items()}
    return FrameOptions.of(given | own, PluginKind.SOURCE)


def test_every_type_goes_into_a_frame_and_comes_back_as_it_was():
    values = Column.from_arrow(pa.array([ROW, None], TYPES).slice(0, 1))
    columns = frame_type(values.arrow().type)
    rows = frame_rows(Batch("t", values), frame_schema(columns))
    assert rows.schema.field("at").type == pa.timestamp("us", "UTC")
    back = connector_rows(rows)
    assert back.rows() == values.rows()
    assert back.arrow().type == values.arrow().type
    plain = frame_rows(Batch("t", Column.from_arrow(pa.array(["a", None]))), frame_schema(frame_type(pa.string())))
    assert connector_rows(plain).rows() == ["a", None]


def test_what_would_lose_something_is_refused_and_names_its_column():
    fine = pa.record_batch({"at": pa.array([NOON.replace(microsecond=1)], pa.timestamp("us", "UTC"))})
    with pytest.raises(SchemaError, match=r"'at'.*milliseconds"):
        connector_rows(fine)
    with pytest.raises(SchemaError, match=r"'at'.*no instant"):
        connector_rows(pa.record_batch({"at": pa.array([dt.datetime(2026, 1, 1)], pa.timestamp("us"))}))  # noqa: DTZ001
    with pytest.raises(SchemaError, match=r"decimal256\(50, 0\)"):
        frame_type(pa.struct({"big": pa.decimal256(50, 0)}))
    schema = frame_schema(StructType().add("a", "long"))
    with pytest.raises(SchemaError, match=r"more \['b'\], fewer \['a'\]"):
        frame_rows(Batch("t", Column.from_arrow(pa.array([{"b": 1}]))), schema)
    with pytest.raises(ConnectError, match="1 tombstones"):
        frame_rows(Batch("t", Column.from_arrow(pa.array([{"a": 1}, None]))), schema)
    values = Column.from_arrow(pa.array([{"a": 1, "b": 2}]))
    assert keys_of(values, ("b",)).rows() == [{"b": 2}]
    with pytest.raises(SchemaError, match=r"no columns \['c'\]"):
        keys_of(values, ("c",))


def test_every_mistake_of_the_options_is_told_and_lowered_names_are_spelled_as_declared():
    given = {"connect.batch.row": "1", "connect.split.rows": "many", "transforms": "a", "connect.timeout.s": "0"}
    with pytest.raises(ConfigError) as refused:
        FrameOptions.of(given, PluginKind.SOURCE)
    names = {problem.key for problem in refused.value.problems}
    assert names == {*given, "connector.class"}
    lowered = {"connector.class": "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector", "defaultdataset": "d"}
    assert FrameOptions.of(lowered, PluginKind.SINK).connector["defaultDataset"] == "d"
    with pytest.raises(ConfigError, match="is a sink connector, and a source connector"):
        FrameOptions.of(lowered, PluginKind.SOURCE)
    assert "hunter2" not in repr(FrameOptions.of(lowered | {"keyfile": "hunter2"}, PluginKind.SINK))


def test_writes_have_partitions_of_their_own_and_a_batch_again_the_same_offsets():
    one = Place.of("t", "one", 3, 7)
    assert one == Place.of("t", "one", 3, 7)
    others = [Place.of("t", "two", 3, 7), Place.of("t", "one", 2, 7), Place.of("t", "one", 3, 8)]
    assert len({(place.topic_partition, place.first_offset) for place in (one, *others)}) == 4
    assert all(0 <= place.topic_partition.partition < 2**31 for place in (one, *others))
    with pytest.raises(ConnectError, match="coalesce"):
        Place.of("t", "one", 1024, 0)


def rows_of(reader: ConnectStreamReader, start: dict, end: dict) -> list[str]:
    parts = [pickle.loads(pickle.dumps(part)) for part in reader.partitions(start, end)]
    return [row for part in parts for batch in reader.read(part) for row in batch.column(0).to_pylist()]


def test_a_stream_gives_a_batch_again_as_it_was_and_goes_on_behind_it(tmp_path: Path):
    file, columns = tmp_path / "in", StructType().add("value", "string")
    options = source(file, batch_rows="10")
    file.write_text("".join(f"{i}\n" for i in range(11)))
    first = ConnectStreamReader(options, columns)
    zero = first.initialOffset()
    one = first.latestOffset(zero, first.getDefaultReadLimit())
    assert rows_of(first, zero, one) == [str(i) for i in range(8)], "two pages of four; a third would be more than ten"
    two = first.latestOffset(one, ReadAllAvailable())
    assert rows_of(first, one, two) == ["8", "9", "10"]
    assert first.latestOffset(two, ReadMaxRows(10)) == two
    first.stop()
    with file.open("a") as more:
        more.write("11\n12\n")
    again = ConnectStreamReader(options, columns)
    assert rows_of(again, one, two) == ["8", "9", "10"], "a page has four rows by now"
    three = again.latestOffset(two, ReadMaxRows(10))
    assert rows_of(again, two, three) == ["11", "12"]
    again.commit(three)
    again.stop()


def test_a_stream_of_what_is_there_now_ends(tmp_path: Path):
    file = tmp_path / "in"
    file.write_text("a\nb\n")
    reader = ConnectStreamReader(source(file), StructType().add("value", "string"))
    reader.prepareForTriggerAvailableNow()
    one = reader.latestOffset(reader.initialOffset(), ReadMaxRows(1))
    assert reader.latestOffset(one, ReadMaxRows(1)) == one
    reader.stop()


def test_a_stream_that_ends_knows_that_rows_are_kept_once_spark_asks_for_those_behind_them(tmp_path: Path):
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO orders VALUES (?)", [(i,) for i in range(5)])
    given = {
        "connector.class": "JdbcSource", "connection.url": f"jdbc:sqlite:{tmp_path}/shop.db", "topic.prefix": "",
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "orders",
        "poll.interval.ms": "20", "settle.time.ms": "0",
    }  # fmt: skip
    reader = ConnectStreamReader(FrameOptions.of(given, PluginKind.SOURCE), StructType())
    reader.prepareForTriggerAvailableNow()
    offsets = [reader.initialOffset()]

    def read_to_the_end() -> None:
        while len(offsets) < 2 or offsets[-1] != offsets[-2]:
            offsets.append(reader.latestOffset(offsets[-1], ReadMaxRows(100)))

    reading = threading.Thread(target=read_to_the_end, daemon=True)
    reading.start()
    reading.join(60)
    assert not reading.is_alive(), "it waits for a commit that Spark sends behind the next batch alone"
    reader.stop()
    assert [sum(offset["rows"].values()) for offset in offsets] == [0, 5, 5]
