"""Checks the parts of `table.format=iceberg` that reach for nothing: settings, columns, offsets, rows that wait."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from connect.api.config import ConfigProblem
from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.api.records import TopicPartition
from connectors.s3.formats.format_specs import JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.iceberg.catalog import properties
from connectors.s3.iceberg.columns import fitted, merged
from connectors.s3.iceberg.offset_runs import RUNS_MAX, UNKNOWN, joined, limited
from connectors.s3.iceberg.pending_rows import Pending, Piece
from connectors.s3.iceberg.progress import OFFSETS, TableProgress
from connectors.s3.iceberg.stored_progress import ROWS, StoredProgress, properties_of, told_by
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.partition_by import PartitionField, parse_partition_by

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
    assert f"allowed.paths={tmp_path}/catalog.db" in problems(iceberg_catalog_uri=uri)["iceberg.catalog.uri"]
    other = f"sqlite:///{tmp_path}/../other/catalog.db"
    assert "allowed.paths" in problems(iceberg_catalog_uri=other, s3_local_folders=str(tmp_path))["iceberg.catalog.uri"]
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


NEWER = TableProgress().advanced("c", ZERO, "id-1", ((0, 7),)).advanced("c", ONE, "id-1", ((0, 3),))
OLDER = TableProgress().advanced("c", ZERO, "id-1", ((0, 5),))


def table(*summaries: dict | None, expired: int = 0, **properties: str) -> SimpleNamespace:
    """A table with these snapshots, the newest first, the last of them gone."""
    found = {
        number: SimpleNamespace(
            summary=summary, snapshot_id=number, parent_snapshot_id=number + 1 if number < len(summaries) - 1 else None
        )
        for number, summary in enumerate(summaries)
    }
    for number in range(len(summaries) - expired, len(summaries)):
        del found[number]
    return SimpleNamespace(
        properties=properties, current_snapshot=lambda: found.get(0), snapshot_by_id=found.get,
        snapshots=lambda: list(found.values()),
    )  # fmt: skip


def with_property(told: TableProgress, rows: int) -> dict[str, str]:
    return {OFFSETS: told.text, ROWS: str(rows)}


OWN = {OFFSETS: NEWER.text, "total-records": "10", "added-records": "4"}
REWRITTEN = {"total-records": "10", "added-records": "10", "deleted-records": "10"}
DELETED = {"total-records": "9", "deleted-records": "1"}


def test_offsets_are_read_behind_snapshots_of_others():
    assert told_by(table(REWRITTEN, None, OWN)) == StoredProgress(NEWER)
    assert (
        told_by(table())
        == told_by(table(REWRITTEN))
        == told_by(table(REWRITTEN, OWN, expired=1))
        == StoredProgress(TableProgress())
    )
    found = told_by(table(OWN)).progress
    assert [found.own("c", at) for at in (ZERO, ONE, TopicPartition("x", 0))] == [((0, 7),), ((0, 3),), None]


def test_the_property_tells_offsets_where_their_snapshot_has_expired():
    tables = [
        table(*above, OWN, expired=1, **with_property(NEWER, 10)) for above in ([REWRITTEN], [DELETED, REWRITTEN])
    ]
    assert [told_by(one) for one in tables] == [StoredProgress(NEWER), StoredProgress(NEWER)]


def test_rows_that_delete_files_mark_are_not_counted():
    """A rewrite takes them out; rewritten manifests may be all that is left of it."""
    marked = SimpleNamespace(summary={"total-records": "10", "total-position-deletes": "2"})
    told = properties_of(NEWER, marked)
    assert told == {OFFSETS: NEWER.text, ROWS: "8"}
    rewritten = {
        "total-records": "8", "added-records": "8", "deleted-records": "10", "removed-position-deletes": "2",
    }  # fmt: skip
    assert told_by(table(rewritten, OWN, expired=1, **told)) == StoredProgress(NEWER)
    assert told_by(table({"total-records": "8"}, rewritten, OWN, expired=2, **told)) == StoredProgress(NEWER)


@pytest.mark.parametrize("behind", [0, 1, 2])
def test_a_snapshot_that_is_its_own_ancestor_is_refused(behind):
    found = table(REWRITTEN, None, DELETED)
    found.snapshot_by_id(2).parent_snapshot_id = behind
    with pytest.raises(ConnectError, match="its own ancestor"):
        told_by(found)


@pytest.mark.parametrize("oldest", [{**REWRITTEN, "total-records": "9"}, {"total-records": "x"}, {}, None])
def test_offsets_whose_rows_are_not_counted_are_in_doubt(oldest):
    """As where others deleted rows, and the snapshot that did has expired, too; or a rollback took them away."""
    assert told_by(table(oldest, OWN, expired=1, **with_property(NEWER, 10))) == StoredProgress(NEWER, is_certain=False)


def test_what_goes_with_the_rows_counts_before_what_stays_through_a_rollback():
    own = {OFFSETS: OLDER.text, "total-records": "6"}
    assert told_by(table(own, **with_property(NEWER, 10))) == StoredProgress(OLDER, taken_back=NEWER)
    assert told_by(table(**with_property(NEWER, 10))) == StoredProgress(TableProgress(), taken_back=NEWER)


def test_a_topic_made_anew_is_told_by_its_id():
    told = TableProgress().advanced("c", ZERO, "id-1", ((0, 7),))
    told.require_same_log("lake.orders", "orders", "id-1")
    told.require_same_log("lake.orders", "orders", None)
    told.require_same_log("lake.orders", "others", "id-2")
    with pytest.raises(ConnectError, match="made anew"):
        told.require_same_log("lake.orders", "orders", "id-2")


@pytest.mark.parametrize(
    "one",
    [
        "5",
        '{"id": null, "next": {"0": 7}, "runs": {"c": {"0": 7}}}',
        '{"id": null, "next": {"0": 7}, "runs": {"c": {"0": [[3, 7], [0, 2]]}}}',
        '{"id": null, "next": {"0": 7}, "runs": {"c": {"0": [[0, 3], [3, 7]]}}}',
    ],
)
def test_offsets_of_somebody_else_are_not_guessed_at(one):
    with pytest.raises(ConnectError, match=OFFSETS):
        TableProgress.parsed(f'{{"orders": {one}}}')


def test_runs_join_where_they_touch_and_those_of_an_unknown_begin_stay_apart():
    assert joined([(5, 9), (0, 3), (3, 4), (20, 30), (8, 12)]) == ((0, 4), (5, 12), (20, 30))
    assert joined([(0, 9), (UNKNOWN, 5)]) == ((UNKNOWN, 5), (5, 9))
    assert joined([(UNKNOWN, 5), (2, 4), (UNKNOWN, 3)]) == ((UNKNOWN, 5),)
    assert joined(found := joined([(UNKNOWN, 5), (5, 7), (7, 8)])) == found == ((UNKNOWN, 5), (5, 8))


def test_of_too_many_runs_the_smallest_gaps_are_closed():
    runs = tuple((n * 100, n * 100 + 50 + n) for n in range(RUNS_MAX + 2))
    found, closed = limited(runs)
    assert closed == [((RUNS_MAX) * 100 + 50 + RUNS_MAX, (RUNS_MAX + 1) * 100), (RUNS_MAX * 100 - 35, RUNS_MAX * 100)]
    assert found == (*runs[: RUNS_MAX - 1], (runs[RUNS_MAX - 1][0], runs[-1][1]))
    assert limited(found) == (found, [])


def piece(*offsets: int) -> Piece:
    return Piece(pa.record_batch({"n": list(offsets)}), np.array(offsets))


def test_rows_that_a_table_has_are_left_out_and_others_stay_the_same_object():
    pending = Pending().with_piece(ZERO, piece(3, 4, 5)).with_piece(ZERO, piece(6, 7)).with_piece(ONE, piece(1))
    assert pending.outside({ZERO: ((0, 3), (8, 10))}) is pending
    left = pending.outside({ZERO: ((0, 5),), ONE: ((0, 9),)})
    assert [batch["n"].to_pylist() for batch in left.batches] == [[5], [6, 7]]
    assert dict(left.ends()) == {ZERO: 8}
    assert (left.rows, left.first_offset(ZERO), left.first_offset(ONE)) == (3, 5, None)
    assert not pending.outside({ZERO: ((0, 8),), ONE: ((0, 2),)})
    held = {ZERO: ((0, 4), (5, 7)), ONE: ((2, 9),)}
    assert [batch["n"].to_pylist() for batch in pending.outside(held).batches] == [[4], [7], [1]]


def test_rows_of_one_offset_stay_together():
    pending = Pending().with_piece(ZERO, piece(3, 3, 4)).with_piece(ZERO, piece(4, 4))
    left = pending.outside({ZERO: ((0, 4),)})
    assert [batch["n"].to_pylist() for batch in left.batches] == [[4], [4, 4]]
