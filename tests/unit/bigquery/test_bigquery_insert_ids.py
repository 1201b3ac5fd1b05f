"""insertIds of records with other fields differ, and a record without one of the fields has none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_compaction import Prompt

from connect.api import schema as s
from connect.api.records import Batch, Column
from connectors.bigquery.rows.sizes import ROW_BYTES, too_large
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.appending import InsertAll, rows_of
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.tables_ready import TargetTables

TEXT = s.STRING.as_optional()


class Client(PlainClient):
    """Keeps the ids that it is given."""

    def __init__(self) -> None:
        super().__init__(PlainBigQuery(Prompt(1)))
        self.ids: list[Any] = []

    def insert_rows_json(self, name: str, rows: Any, *, row_ids: Any, **others: Any) -> list[Any]:
        json.dumps(rows)
        self.ids += row_ids
        return super().insert_rows_json(name, rows, **others)


def ids_of(*rows: tuple[str | None, ...], fields: str = "sku,variant") -> list[str | None]:
    """The ids of records with these values, as they are sent."""
    settings = {"project": PROJECT, "defaultDataset": DATASET, "dedup.mode": "insert_id", "dedup.fields": fields}
    config, client = BigQuerySinkConfig.parse({**settings, "timePartitioningType": "NONE"}), Client()
    warehouse = Warehouse(client, PROJECT, DATASET, timeout_s=10)
    schema = s.struct({"sku": TEXT, "variant": TEXT, "price": s.INT64})
    values = [{"sku": row[0], "variant": row[-1], "price": 1} for row in rows]
    batch: Batch = batch_of([Message(0, offset, offset, 0) for offset in range(len(rows))])
    batch = replace(batch, values=Column.from_rows(values, schema))
    assert batch.consumed is not None
    ((buffer, admitted),) = taken_in(batch, TargetTables(config, warehouse)).parts
    buffer.take(batch.consumed.topic_partition, admitted, 0.0)
    sealed = buffer.seal()
    assert InsertAll(warehouse).write(sealed, rows_of(sealed)) == {}
    return client.ids


def test_fields_of_two_records_make_one_id_only_where_all_are_equal():
    rows = [
        ("AB-1", "2"),
        ("AB", "1-2"),
        ("AB%2D1", "2"),
        ("AB%", "2D1-2"),
        ("a", "b"),
        ("a", "b"),
        ("-", ""),
        ("", "-"),
    ]
    ids = ids_of(*rows)
    assert len(set(ids)) == len(set(rows))
    assert ids[4] == ids[5] == "a-b"


@pytest.mark.parametrize(
    ("fields", "rows"), [("sku,variant", [(None, "x"), (None, None), ("", "x")]), ("sku", [(None,)] * 2)]
)
def test_a_record_without_a_field_is_no_others_repeat(fields, rows):
    wanted = [None, None, "-x"] if fields == "sku,variant" else [None, None]
    assert ids_of(*rows, fields=fields) == wanted


def test_records_have_ids_by_their_place_where_brokers_tell_no_id_of_a_topic():
    rows = [("a", "b"), ("c", "d")]
    assert ids_of(*rows, fields="__topic_id,__partition,__offset") == ["-0-0", "-0-1"]
    assert ids_of(*rows, fields="__topic_id,__offset,sku") == ["-0-a", "-1-c"]


def test_one_field_is_the_id_as_it_is():
    assert ids_of(("AB-1",), ("x" * 200,), fields="sku")[0] == "AB-1"


@pytest.mark.parametrize(("size_bytes", "is_bad"), [(6_000_000, False), (7_500_000, True)])
def test_bytes_count_as_the_base64_that_insert_all_takes(size_bytes, is_bad):
    payload = s.array(s.struct({"payload": s.BYTES}))
    values = Column.from_rows([{"parts": [{"payload": bytes(size_bytes)}]}], s.struct({"parts": payload}))
    rows = pa.table({"payload": pa.array([bytes(size_bytes)], pa.binary()), "nested": values.arrow()})
    assert bool(too_large(rows.select(["payload"]), ROW_BYTES, as_json=True)) is is_bad
    assert bool(too_large(rows.select(["nested"]), ROW_BYTES, as_json=True)) is is_bad
    assert too_large(rows.select(["payload"]), ROW_BYTES) == {}
