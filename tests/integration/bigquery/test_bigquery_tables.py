"""Checks the options and column types of new tables, and what the sink does if somebody else changes tables
meanwhile.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import grpc
import pyarrow as pa
import pytest
from bigquery_oracle import TOPIC, Message
from bigquery_run import Life
from bigquery_write_shim import AppendFault, WriteShim
from google.cloud import bigquery

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connectors.bigquery.dedup.side_tables import KEYS_LABEL
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector

PLACE = TopicPartition(TOPIC, 0)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TYPED = s.struct({"id": s.INT64, "doc": s.STRING, "shape": s.STRING.as_optional(), "seen": s.TIMESTAMP_SCHEMA,
                  "price": s.decimal(2), "place": s.struct({"note": s.STRING})})  # fmt: skip
ROWS = [
    {
        "id": 1, "doc": '{"a": [1]}', "shape": "POINT(1 2)", "seen": EPOCH + timedelta(seconds=1),
        "price": Decimal("12.34"), "place": {"note": "7"},
    },
    {
        "id": 2, "doc": "null", "shape": None, "seen": EPOCH + timedelta(seconds=2.001), "price": Decimal("0.25"),
        "place": {"note": "[]"},
    },
]  # fmt: skip


def put(life: Life, rows: list[dict], schema: s.Schema, *, at: int = 0) -> None:
    values = Column.from_arrow(pa.array(rows, arrow_type(schema)), schema)
    times = pa.array([1_700_000_000_000 + at + number for number in range(len(rows))], pa.int64())
    offsets = pa.array(range(at, at + len(rows)), pa.int64())
    consumed = Consumed(PLACE, offsets, at + len(rows))
    life.take(Batch(TOPIC, values, timestamps_ms=times, partition=0, consumed=consumed))


def test_columns_have_the_types_that_are_chosen_for_them(dataset):
    settings = dataset.settings(
        table__column__types="doc:JSON,shape:GEOGRAPHY,seen:DATETIME,price:BIGNUMERIC,place.note:JSON",
        table__labels="team:shop,stage:test", table__primary__key="id", timestampPartitionFieldName="seen",
    )  # fmt: skip
    with Life(settings) as life:
        put(life, ROWS, TYPED)
        life.settle()
    found = dataset.query(
        "SELECT id, JSON_VALUE(doc, '$.a[0]') AS a, ST_Y(shape) AS y, CAST(seen AS STRING) AS seen, price, "
        f"JSON_TYPE(t.place.note) AS kind FROM `{dataset.name}`.orders t ORDER BY id"
    )
    assert [(row["a"], row["y"], row["seen"][:19], str(row["price"])[:5], row["kind"]) for row in found] == [
        ("1", 2.0, "1970-01-01 00:00:01", "12.34", "number"), (None, None, "1970-01-01 00:00:02", "0.25", "array")
    ]  # fmt: skip
    table = dataset.client.get_table(f"{dataset.name}.orders")
    kinds = {field.name: field.field_type for field in table.schema}
    assert [kinds[name] for name in ("doc", "shape", "seen", "price")] == [
        "JSON",
        "GEOGRAPHY",
        "DATETIME",
        "BIGNUMERIC",
    ]
    assert table.labels == {
        "team": "shop", "stage": "test",
        "kafka-connect-dedup-mode": "merge", "kafka-connect-dedup-reason": "no-rows",
        KEYS_LABEL: table.labels[KEYS_LABEL],
    }  # fmt: skip
    assert table.table_constraints.primary_key.columns == ["id"]
    assert table.time_partitioning.field == "seen"


@pytest.mark.chaos
def test_a_table_made_for_deletes_takes_values_of_another_task_and_somebodys_own_does_not(dataset):
    key = Column.from_arrow(pa.array([{"id": 1}]), s.struct({"id": s.INT64}))
    consumed = Consumed(PLACE, pa.array([0]), 1)
    tombstone = Batch(
        TOPIC, Column.from_arrow(pa.nulls(1)), keys=key, timestamps_ms=pa.array([0]), partition=0, consumed=consumed
    )
    with Life(dataset.settings()) as life:
        life.take(tombstone)
        life.settle()
    table = dataset.client.get_table(f"{dataset.name}.{TOPIC}")
    assert table.labels["kafka-connect-made-for"] == "deletes"
    with Life(dataset.settings()) as other:
        other.put([Message(0, 1, 2, 0)])
        other.settle()
    assert [(row["id"], row["text"]) for row in dataset.rows(TOPIC)] == [(2, "x")]

    dataset.query(f"DROP TABLE `{dataset.name}`.{TOPIC}")
    dataset.query(f"CREATE TABLE `{dataset.name}`.{TOPIC} (id INT64)")
    with Life(dataset.settings()) as life, pytest.raises(SchemaError, match="allowNewBigQueryFields=true adds"):
        life.put([Message(0, 1, 2, 0)])


def test_a_primary_key_that_the_records_lack_is_named(dataset):
    with (
        Life(dataset.settings(table__primary__key="id,number")) as life,
        pytest.raises(ConfigError, match=r"orders cannot have the primary key id, number: the records have no number"),
    ):
        life.put([Message(0, 0, 1, 0)])


def test_a_column_that_somebody_drops_meanwhile_is_named_and_a_restart_goes_on(dataset):
    life = Life(dataset.settings(allowNewBigQueryFields="true"))
    life.put([Message(0, 0, 1, 0)])
    life.settle()
    dataset.query(f"ALTER TABLE `{dataset.name}`.orders DROP COLUMN text")
    life.put([Message(0, 1, 2, 0)])
    with pytest.raises(ConnectError, match=r"orders was changed by somebody else.*column text is gone.*Restart"):
        life.settle()
    life.task.close()
    with Life(dataset.settings(allowNewBigQueryFields="true")) as again:
        again.put([Message(0, 1, 2, 0, text="back")])
        again.settle()
    assert [(row["id"], row["text"]) for row in dataset.rows("orders")] == [(1, None), (2, "back")]


def test_rows_do_not_become_doubles_when_other_fields_tell_them_apart(dataset):
    nested = s.struct({"id": s.INT64, "place": s.struct({"number": s.INT64})})
    rows = [{"id": 1, "place": {"number": 7}}, {"id": 2, "place": {"number": 8}}]
    for settings in ({}, {"dedup__fields": "place.number"}, {"dedup__mode": "view", "dedup__fields": "place.number"}):
        with Life(dataset.settings(**settings)) as life:
            if not settings:
                put(life, rows, nested)
                life.settle()
                continue
            with pytest.raises(ConfigError, match=r"would become doubles|a double of it"):
                put(life, rows, nested)
        validated = BigQuerySinkConnector(BigQuerySinkConfig.parse(dataset.settings(topics=TOPIC, **settings)))
        with pytest.raises(ConfigError, match=r"would become doubles|a double of it"):
            validated.check(Deadline.after(60))
    assert len(dataset.rows("orders")) == 2


def test_a_new_column_leaves_what_somebody_says_of_the_others(dataset):
    with Life(dataset.settings(allowNewBigQueryFields="true")) as life:
        put(life, [{"id": 1}], s.struct({"id": s.INT64}))
        life.settle()
        table = dataset.client.get_table(f"{dataset.name}.orders")
        described = [{**field.to_api_repr(), "description": f"says {field.name}"} for field in table.schema]
        table.schema = list(map(bigquery.SchemaField.from_api_repr, described))
        dataset.client.update_table(table, ["schema"])
        put(life, [{"id": 2, "more": 7}, {"id": 3, "more": 8}], s.struct({"id": s.INT64, "more": s.INT64}))
        life.settle()
    found = {field.name: field.description for field in dataset.client.get_table(f"{dataset.name}.orders").schema}
    assert found == {"more": None, **{field["name"]: f"says {field['name']}" for field in described}}


def test_a_newer_record_has_null_in_columns_that_another_process_added(dataset):
    plain = s.struct({"id": s.INT64, "name": s.STRING})
    more = s.struct({"id": s.INT64, "name": s.STRING, "n": s.INT64, "part": s.struct({"a": s.STRING}),
                     "list": s.array(s.INT64)})  # fmt: skip
    settings = dataset.settings(allowNewBigQueryFields="true")
    with Life(settings, tasks=2) as first, Life(settings, task=1, tasks=2) as second:
        put(first, [{"id": 1, "name": "x"}], plain)
        first.settle()
        put(second, [{"id": 7, "name": "old", "n": 5, "part": {"a": "b"}, "list": [1]}], more, at=10)
        second.settle()
        put(first, [{"id": 7, "name": "new"}], plain, at=20)
        first.settle()
    rows = [(row["id"], row["name"], row["n"], row["part"], row["list"] or None) for row in dataset.rows("orders")]
    assert sorted(rows) == [(1, "x", None, None, None), (7, "new", None, None, None)]


@pytest.mark.parametrize("told", ["Input schema has more fields than BigQuery schema", "Schema mismatch"])
def test_a_new_column_that_the_stream_does_not_see_yet_is_waited_for(dataset, told):
    if not dataset.is_emulated:
        pytest.skip("ON THE EMULATOR ALONE: Google's service is spoken to without a shim.")
    settings = dataset.settings(allowNewBigQueryFields="true", useStorageWriteApi="true", timePartitioningType="NONE")
    del settings["dedup.fields"], settings["dedup.merge.interval.ms"]
    with WriteShim(settings["bigquery.storage.endpoint"], dataset.client) as shim:
        shim.faults = [AppendFault(grpc.StatusCode.INVALID_ARGUMENT, times=2, message=told)]
        with Life({**settings, "bigquery.storage.endpoint": shim.endpoint}) as life:
            life.put([Message(0, 0, 1, 0)])
            life.settle()
        assert any(told in warning for warning in life.warnings)
    assert [row["id"] for row in dataset.rows("orders")] == [1]


def test_figures_and_the_log_tell_what_each_merge_did(dataset, caplog):
    caplog.set_level(logging.INFO, "connectors.bigquery.merge")
    settings = dataset.settings(dedup__merge__max__records="4", dedup__merge__interval__ms="60000")
    with Life(settings) as life:
        life.put([Message(0, 0, 1, 5), Message(0, 1, 2, 5), Message(0, 2, 3, 5), Message(0, 3, 1, 6)])
        life.settle()
        life.put([Message(0, 4, 1, 7), Message(0, 5, 2, 8, text=None), Message(0, 6, 3, 1), Message(0, 7, 4, 5)])
        life.settle()
        life.flush()
    lines = [record.getMessage() for record in caplog.records]
    if not dataset.is_emulated:  # the emulator makes no dry run of a MERGE
        assert any("A merge into table orders reads" in line and "GiB a day" in line for line in lines)
    merged = [line.split(": ", 1)[1] for line in lines if line.startswith("Merged into table orders")]
    assert [line.split("; ")[0] for line in merged] == [
        "4 rows staged, 3 inserted, 0 updated, 0 deleted, 1 dropped as duplicate or older",
        "4 rows staged, 1 inserted, 1 updated, 1 deleted, 1 dropped as duplicate or older",
    ]
    billed = sum(int(line.split("; ")[1].removesuffix(" bytes billed.")) for line in merged)  # 0 in the emulator
    gauges = life.context.gauges
    names = ("rows_staged", "rows_inserted", "rows_updated", "rows_deleted", "rows_dropped", "bytes_billed")
    assert [gauges[f"merged_{name}_total"] for name in names] == [8, 4, 1, 1, 2, billed]
    assert gauges["merges_total"] == 2


def test_a_hundred_thousand_keys_go_into_a_million_rows_by_one_merge(dataset):
    dataset.query(
        f"CREATE TABLE `{dataset.name}`.orders AS SELECT id, 'old' AS text "
        "FROM UNNEST(GENERATE_ARRAY(1, 1000000)) AS id"
    )
    schema = s.struct({"id": s.INT64, "text": s.STRING})
    with Life(dataset.settings(dedup__merge__max__records="100000", dedup__merge__interval__ms="60000")) as life:
        put(
            life,
            [{"id": number * 10 + 1, "text": "new"} for number in range(99_999)] + [{"id": -1, "text": "new"}],
            schema,
        )
        life.settle()
        life.flush()
    assert life.context.gauges["merges_total"] == 1
    assert life.context.gauges["merged_rows_updated_total"] == 99_999
    counts = f"SELECT text, COUNT(*) AS found, COUNT(DISTINCT id) AS ids FROM `{dataset.name}`.orders GROUP BY text"
    assert {row["text"]: (row["found"], row["ids"]) for row in dataset.query(counts)} == {
        "old": (900_001, 900_001), "new": (100_000, 100_000)
    }  # fmt: skip
