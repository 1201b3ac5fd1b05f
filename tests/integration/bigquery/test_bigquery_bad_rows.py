"""Checks that rows which BigQuery itself refuses become dead letters, by each way of writing, and that all others
land.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from bigquery_oracle import Message
from bigquery_run import Life
from bigquery_write_shim import WriteShim
from google.cloud import bigquery

Field = bigquery.SchemaField
WAYS = {
    "merge": {"dedup.fields": "id"},
    "insertAll": {},
    "storage": {"useStorageWriteApi": "true"},
    "load": {"enableBatchLoad": "orders", "batchLoadIntervalSec": "1"},
}


def create_with_json(dataset) -> None:
    """The text is a JSON column, so a text that is no JSON is refused, by BigQuery alone."""
    columns = [
        Field("id", "INT64"), Field("region", "STRING"), Field("version", "INT64"), Field("text", "JSON"),
        Field("gone", "BOOL"), Field("at", "TIMESTAMP"),
    ]  # fmt: skip
    dataset.client.create_table(bigquery.Table(f"{dataset.project}.{dataset.name}.orders", schema=columns))


def settings_of(dataset, way: str) -> dict[str, str]:
    settings = dataset.settings(dedup__merge__interval__ms="200")
    del settings["dedup.fields"]
    if way != "merge":
        del settings["dedup.merge.interval.ms"]
    return {**settings, **WAYS[way]}


@pytest.fixture
def service(dataset, way) -> Iterator[dict[str, str]]:
    """Where the sink writes. The emulator adds a part of an append that it refuses, so a shim refuses before it."""
    if way != "storage" or not dataset.is_emulated:
        yield {}
        return
    with WriteShim(dataset.settings()["bigquery.storage.endpoint"], dataset.client, refuses="no json") as shim:
        yield {"bigquery.storage.endpoint": shim.endpoint}


@pytest.mark.parametrize("way", WAYS)
def test_a_row_that_bigquery_refuses_is_a_dead_letter_and_the_others_land(dataset, service, way):
    create_with_json(dataset)
    texts = [json.dumps(f"row {number}") for number in range(9)]
    texts[2], texts[6] = "{no json", "no json either]"
    with Life({**settings_of(dataset, way), **service}) as life:
        life.put([Message(0, 10 + number, number, 0, text=text) for number, text in enumerate(texts[:5])])
        life.put([Message(1, 20 + number, number + 5, 0, text=text) for number, text in enumerate(texts[5:])])
        life.settle()
    assert [row["id"] for row in dataset.rows("orders")] == [0, 1, 3, 4, 5, 7, 8]
    letters = {(letter.record.partition, letter.record.offset): letter.reason for letter in life.context.rejected}
    assert sorted(letters) == [(0, 12), (1, 21)]
    assert all("refused" in str(reason) for reason in letters.values())
    assert life.context.gauges["refused_rows_total"] == 2
    assert not [name for name in dataset.tables() if "_tmp_" in name]


@pytest.mark.parametrize("way", ["merge", "insertAll", "storage"])
def test_a_row_above_ten_megabytes_is_one_bad_row_where_a_request_does_not_take_it(dataset, way):
    with Life(settings_of(dataset, way)) as life:
        life.put([Message(0, 0, 1, 0), Message(0, 1, 2, 0, text="x" * 11_000_000), Message(0, 2, 3, 0)])
        life.settle()
    found = [row["id"] for row in dataset.query(f"SELECT id FROM `{dataset.name}`.orders ORDER BY id")]
    if way == "merge":  # a load job takes it
        assert (found, life.context.rejected) == ([1, 2, 3], [])
        return
    assert found == [1, 3]
    assert [letter.record.offset for letter in life.context.rejected] == [1]
    assert "takes 10 MB" in str(life.context.rejected[0].reason)
