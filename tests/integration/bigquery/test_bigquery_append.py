"""Adds rows without dedup: each way of writing them, all types, and the effect of a replay."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, latest
from bigquery_run import Life
from e2e_worker import wait_for

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Batch, Column, Consumed, TopicPartition

WAYS = {
    "insertAll": {},
    "storage": {"useStorageWriteApi": "true"},
    "load": {"enableBatchLoad": "orders", "batchLoadIntervalSec": "1"},
}
ALL_TYPES = s.struct(
    {
        "id": s.INT64, "small": s.INT8, "real": s.FLOAT64.as_optional(), "yes": s.BOOLEAN,
        "text": s.STRING.as_optional(), "raw": s.BYTES, "price": s.decimal(2, optional=True), "day": s.DATE_SCHEMA,
        "clock": s.TIME_SCHEMA, "moment": s.TIMESTAMP_SCHEMA, "tags": s.array(s.STRING),
        "names": s.map_of(s.STRING, s.INT64),
        "place": s.struct({"x": s.INT32, "more": s.array(s.INT64)}, optional=True),
    }
)  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {
        "id": 1, "small": -128, "real": 1.5, "yes": True, "text": "ä🙂", "raw": b"\x00\xff", "price": Decimal("-12.30"),
        "day": date(1, 1, 1), "clock": time(23, 59, 59, 999000), "moment": datetime(9999, 12, 31, tzinfo=UTC),
        "tags": ["a", ""], "names": [("k", 2**60)], "place": {"x": 7, "more": [1, 2]},
    },
    {
        "id": 2, "small": 0, "real": None, "yes": False, "text": None, "raw": b"", "price": None,
        "day": date(2026, 11, 22), "clock": time(0), "moment": datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=UTC),
        "tags": [], "names": [], "place": None,
    },
]  # fmt: skip


def plain(dataset, **others: str) -> dict[str, str]:
    settings = dataset.settings(timePartitioningType="NONE", **others)
    del settings["dedup.fields"]
    return settings


@pytest.mark.parametrize("way", WAYS)
def test_every_row_is_added(dataset, way):
    with Life(plain(dataset, kafkaDataFieldName="kafka", **WAYS[way])) as life:
        life.put([Message(0, 0, 1, 0), Message(0, 1, 1, 0, text=None), Message(0, 2, 1, 0)])
        life.put([Message(1, 0, 1, 0), Message(1, 5, 2, 0)])
        life.settle()
    rows = dataset.query(
        f"SELECT id, t.kafka.partition AS p, t.kafka.offset AS o FROM `{dataset.name}`.orders t ORDER BY p, o"
    )
    assert [(row["id"], row["p"], row["o"]) for row in rows] == [(1, 0, 0), (1, 0, 2), (1, 1, 0), (2, 1, 5)]
    assert "null value" in str(life.bad["orders", 0, 1])


@pytest.mark.parametrize("way", WAYS)
def test_every_type_comes_back_as_it_was(dataset, way):
    settings = plain(dataset, decimalHandlingMode="NUMERIC", **WAYS[way])
    schema, rows = ALL_TYPES, ROWS
    if way == "load" and dataset.is_emulated:  # the emulator does not load BYTES from Parquet; Google's service does
        schema = s.struct([f for f in ALL_TYPES.fields if f.name != "raw"])
        rows = [{name: value for name, value in row.items() if name != "raw"} for row in ROWS]
    values = Column.from_arrow(pa.array(rows, arrow_type(schema)), schema)
    place = TopicPartition("orders", 0)
    with Life(settings) as life:
        life.take(Batch("orders", values, partition=0, consumed=Consumed(place, pa.array([0, 1], pa.int64()), 2)))
        life.settle()
    wanted = [{**row, "names": [{"key": k, "value": v} for k, v in row["names"]]} for row in rows]
    assert dataset.rows("orders") == wanted


def test_the_same_log_as_the_java_connector_writes_it_and_with_dedup_on_a_field(dataset):
    """What others do keeps one row per offset, whatever the message says; dedup.fields keeps one per id."""
    messages = [Message(0, offset, offset % 5, offset, topic="java") for offset in range(20)]
    with Life(plain(dataset)) as java:
        java.put(messages)
        java.settle()
    with Life(dataset.settings(topic2TableMap="java:ours")) as ours:
        ours.put(messages)
        ours.settle()
    counts = "SELECT COUNT(*) AS found, COUNT(*) - COUNT(DISTINCT id) AS duplicates"
    assert dataset.query(f"{counts} FROM `{dataset.name}`.java") == [{"found": 20, "duplicates": 15}]
    assert dataset.query(f"{counts} FROM `{dataset.name}`.ours") == [{"found": 5, "duplicates": 0}]
    assert [row["_kafka_offset"] for row in dataset.rows("ours")] == [
        m.offset for _, m in sorted(latest(messages).items())
    ]


def test_an_insert_id_of_a_field_drops_what_comes_again_at_once(dataset):
    with Life(dataset.settings(dedup__mode="insert_id")) as life:
        life.put([Message(0, 0, 1, 0), Message(0, 1, 2, 0)])
        life.settle()
        life.put([Message(0, 2, 1, 0), Message(0, 3, 3, 0)])
        life.settle()
    wait_for(lambda: [row["id"] for row in dataset.rows("orders")] == [1, 2, 3], 20, "one row per id")
