"""The parts of `table.format=iceberg` that reach for nothing: settings, columns, offsets, rows that wait."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from connect.api.config import ConfigProblem
from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.api.records import TopicPartition
from connectors.s3.classes import JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.config import S3SinkConfig
from connectors.s3.iceberg.catalog import properties
from connectors.s3.iceberg.columns import fitted, merged
from connectors.s3.iceberg.partition_by import PartitionField, parse_partition_by
from connectors.s3.iceberg.pending import Pending, Piece
from connectors.s3.iceberg.progress import OFFSETS, Progress

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
GIVEN = {
    "s3.bucket.name": "lake", "format.class": PARQUET_FORMAT, "flush.size": "10", "table.format": "iceberg",
    "iceberg.catalog.type": "sql", "iceberg.catalog.uri": "postgresql+psycopg://u:secret-4711@db/lake",
}  # fmt: skip


def problems(**changed: str | None) -> dict[str, str]:
    given = {**GIVEN, **{name.replace("_", "."): value for name, value in changed.items()}}
    with pytest.raises(ConfigError) as raised:
        S3SinkConfig.parse(given)
    return {problem.key: problem.message for problem in raised.value.problems if isinstance(problem, ConfigProblem)}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", []),
        ("region", [("region", "identity")]),
        ("day(at), bucket(id, 16),region", [("at", "day"), ("id", "bucket[16]"), ("region", "identity")]),
        ("hours(meta.at),truncate( name , 4 )", [("meta.at", "hour"), ("name", "truncate[4]")]),
    ],
)
def test_partitions_are_read(text, fields):
    assert parse_partition_by(text) == tuple(PartitionField(*field) for field in fields)


@pytest.mark.parametrize("text", ["day", "bucket(id)", "day(at, 3)", "week(at)", "bucket(id, 0)", "a b", "day(at"])
def test_partitions_that_are_none_are_refused_with_what_there_is(text):
    if text == "day":
        assert parse_partition_by(text) == (PartitionField("day", "identity"),)
        return
    with pytest.raises(ValueError, match=r"bucket\("):
        parse_partition_by(text)


def test_settings_that_do_not_go_with_tables_are_named_all_at_once():
    found = problems(
        format_class=JSON_FORMAT, iceberg_catalog_type="", store_kafka_keys="true", schema_compatibility="MERGE",
        partitioner_class="io.confluent.connect.storage.partitioner.DailyPartitioner",
    )  # fmt: skip
    assert set(found) == {
        "format.class", "iceberg.catalog.type", "store.kafka.keys", "schema.compatibility", "partitioner.class",
    }  # fmt: skip


def test_a_catalogue_in_a_file_needs_the_workers_leave(tmp_path):
    uri = f"sqlite:///{tmp_path}/catalog.db"
    assert "s3.local.folders" in problems(iceberg_catalog_uri=uri)["iceberg.catalog.uri"]
    assert (
        "s3.local.folders"
        in problems(iceberg_catalog_uri=f"sqlite:///{tmp_path}/../other/catalog.db", s3_local_folders=str(tmp_path))[
            "iceberg.catalog.uri"
        ]
    )
    assert S3SinkConfig.parse({**GIVEN, "iceberg.catalog.uri": uri, "s3.local.folders": str(tmp_path)})


def test_no_class_of_the_catalogues_library_can_be_named():
    given = {**GIVEN, "iceberg.catalog.py-catalog-impl": "os.system", "iceberg.catalog.py-io-impl": "os.system"}
    assert not [name for name in properties(S3SinkConfig.parse(given)) if "impl" in name]
    assert "sqlite" in problems(iceberg_catalog_uri="duckdb:////etc/passwd")["iceberg.catalog.uri"]


def test_the_library_hears_where_the_catalogue_and_the_bucket_are():
    found = properties(S3SinkConfig.parse({**GIVEN, "aws.access.key.id": "id", "aws.secret.access.key": "secret",
                                           "store.url": "http://127.0.0.1:1", "topics.dir": "tables"}))  # fmt: skip
    assert found["warehouse"] == "s3://lake/tables"
    assert (found["s3.endpoint"], found["s3.access-key-id"], found["type"]) == ("http://127.0.0.1:1", "id", "sql")


def struct(**fields: pa.DataType) -> pa.StructType:
    return pa.struct(list(fields.items()))


def test_columns_widen_as_iceberg_can_promote():
    table = pa.struct([
        pa.field("n", pa.int32(), nullable=False), ("f", pa.float32()), ("d", pa.decimal128(9, 2)),
        ("s", pa.struct([("a", pa.int32())])), ("l", pa.list_(pa.field("element", pa.int32()))),
    ])  # fmt: skip
    rows = struct(
        n=pa.int64(), f=pa.float64(), d=pa.decimal128(12, 2), s=pa.struct([("b", pa.time32("ms"))]),
        l=pa.list_(pa.int64()), new=pa.timestamp("ms", "UTC"), none=pa.null(),
    )  # fmt: skip
    found = merged(table, rows)
    assert found == pa.struct([
        pa.field("n", pa.int64(), nullable=False), ("f", pa.float64()), ("d", pa.decimal128(12, 2)),
        ("s", pa.struct([("a", pa.int32()), ("b", pa.time64("us"))])), ("l", pa.list_(pa.field("element", pa.int64()))),
        ("new", pa.timestamp("us", "UTC")),
    ])  # fmt: skip
    assert merged(found, rows) == found


@pytest.mark.parametrize(
    ("table", "rows", "path"),
    [
        (struct(a=pa.int64()), struct(a=pa.string()), "a"),
        (struct(a=pa.string()), struct(a=pa.int64()), "a"),
        (struct(a=pa.int64()), struct(a=pa.float64()), "a"),
        (struct(a=pa.decimal128(9, 2)), struct(a=pa.decimal128(9, 3)), "a"),
        (struct(a=struct(b=pa.int64())), struct(a=struct(b=pa.string())), "a.b"),
        (struct(a=pa.int64()), struct(a=struct(b=pa.int64())), "a"),
        (struct(), struct(a=pa.decimal256(60, 0)), "a"),
    ],
)
def test_a_type_that_would_lose_something_is_refused_by_its_field(table, rows, path):
    with pytest.raises(SchemaError) as raised:
        merged(table, rows)
    assert raised.value.field == path


def test_rows_without_any_type_make_no_table():
    with pytest.raises(SchemaError, match="no column"):
        merged(struct(), struct(a=pa.null(), b=pa.list_(pa.null())))


def test_rows_get_the_columns_they_lack_and_nothing_is_rounded():
    columns = struct(a=pa.float64(), b=pa.string())
    assert fitted(pa.record_batch({"a": [2**53]}), columns).to_pylist() == [{"a": 2.0**53, "b": None}]
    with pytest.raises(SchemaError, match="does not fit"):
        fitted(pa.record_batch({"a": [2**53 + 1]}), columns)
    required = pa.struct([pa.field("k", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match="k"):
        fitted(pa.record_batch({"a": [1]}), required)


def test_offsets_are_read_behind_snapshots_of_others():
    told = Progress().advanced(ZERO, "id-1", 7).advanced(ONE, "id-1", 3)
    own = SimpleNamespace(summary={OFFSETS: told.text}, parent_snapshot_id=None)
    of_others = SimpleNamespace(summary={}, parent_snapshot_id=1)
    found = Progress.of(of_others, {1: own}.get)
    assert found == told
    assert (found.next_offset(ZERO), found.next_offset(ONE), found.next_offset(TopicPartition("x", 0))) == (7, 3, 0)
    assert Progress.of(None, {}.get) == Progress()


def test_a_topic_made_anew_is_told_by_its_id():
    told = Progress().advanced(ZERO, "id-1", 7)
    told.require_same_log("lake.orders", "orders", "id-1")
    told.require_same_log("lake.orders", "orders", None)
    told.require_same_log("lake.orders", "others", "id-2")
    with pytest.raises(ConnectError, match="made anew"):
        told.require_same_log("lake.orders", "orders", "id-2")


def test_offsets_of_somebody_else_are_not_guessed_at():
    with pytest.raises(ConnectError, match=OFFSETS):
        Progress.parsed('{"orders": 5}')


def piece(*offsets: int) -> Piece:
    return Piece(pa.record_batch({"n": list(offsets)}), np.array(offsets))


def test_rows_that_a_table_has_are_left_out_and_others_stay_the_same_object():
    pending = Pending().with_piece(ZERO, piece(3, 4, 5)).with_piece(ZERO, piece(6, 7)).with_piece(ONE, piece(1))
    assert pending.behind(Progress().advanced(ZERO, None, 3)) is pending
    left = pending.behind(Progress().advanced(ZERO, None, 5).advanced(ONE, None, 9))
    assert [batch["n"].to_pylist() for batch in left.batches] == [[5], [6, 7]]
    assert dict(left.ends()) == {ZERO: 8}
    assert (left.rows, left.first_offset(ZERO), left.first_offset(ONE)) == (3, 5, None)
    assert not pending.behind(Progress().advanced(ZERO, None, 8).advanced(ONE, None, 2))


def test_rows_of_one_offset_stay_together():
    pending = Pending().with_piece(ZERO, piece(3, 3, 4)).with_piece(ZERO, piece(4, 4))
    left = pending.behind(Progress().advanced(ZERO, None, 4))
    assert [batch["n"].to_pylist() for batch in left.batches] == [[4], [4, 4]]
