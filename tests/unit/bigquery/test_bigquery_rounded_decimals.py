"""Decimals that a FLOAT column rounds are told, and those that it gives back as they were are not."""

from __future__ import annotations

import logging
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_compaction_columns import with_values

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.rows.names import FieldNames
from connectors.bigquery.rows.rounded import rounded_fields
from connectors.bigquery.rows.table_schema import ColumnType
from connectors.bigquery.rows.types import TypeRules, column_of
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

LONG, SHORT = Decimal("12345678901234.56"), Decimal("1234567890123.45")
MONEY = s.decimal(2)


def told(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, s.Schema], *rows: dict[str, Any], **settings: str
) -> list[str]:
    """Write rows one after the other, and return what the connector's status notes."""
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    client = PlainClient(PlainBigQuery(Random(1)))
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(client, PROJECT, DATASET, timeout_s=10))
    given = {"project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "dedup.mode": "merge"}
    config = BigQuerySinkConfig.parse({**given, "timePartitioningType": "NONE", **settings})
    task, context = sink.BigQuerySinkTask(config), FakeSinkContext()
    task.open(context)
    try:
        for offset, row in enumerate(rows):
            task.put(with_values([Message(0, offset, 1, 0)], fields, [row]), Deadline.after(10))
            deadline = Deadline.after(60)
            while task._open.first_records.are_waiting:
                assert deadline.wait(0.01)
                task.flush(deadline)
        task.flush(Deadline.after(10))
    finally:
        task.close()
    return list(context.noted)


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        (MONEY, LONG, "x"),
        (MONEY, -LONG, "x"),
        (MONEY, SHORT, None),
        (s.decimal(20), Decimal("0.10000000000000000000"), None),
        (s.decimal(20), Decimal("0.12345678901234567890"), "x"),
        (MONEY.as_optional(), None, None),
        (s.decimal(0), Decimal(2**53 + 1), "x"),
        (s.decimal(0), Decimal(10**30), None),
        (s.struct({"price": MONEY, "n": MONEY}), {"price": LONG, "n": SHORT}, "x.price"),
        (s.array(MONEY), [SHORT, LONG], "x"),
        (s.array(MONEY), [], None),
        (s.map_of(s.STRING, MONEY), [("a", SHORT), ("b", LONG)], "x.value"),
        (s.FLOAT64, 1 / 3, None),
    ],
)
def test_a_decimal_that_loses_digits_is_found(schema, value, path):
    values = pa.array([value], arrow_type(schema))
    column = column_of("x", schema, TypeRules(FieldNames(is_sanitizing=False)), "x")
    assert list(rounded_fields(values, schema, column, "x", set())) == ([] if path is None else [path])
    assert list(rounded_fields(values, schema, column, "x", {path})) == []
    kept = column_of("x", schema, TypeRules(FieldNames(is_sanitizing=False), ColumnType.BIGNUMERIC), "x")
    assert list(rounded_fields(values, schema, kept, "x", set())) == []


def test_each_field_is_told_once_in_the_log_and_stays_in_the_status(monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    fields = {"a": MONEY, "b": MONEY}
    rows = [{"a": LONG, "b": SHORT}, {"a": LONG, "b": SHORT}, {"a": SHORT, "b": LONG}]
    notes = told(monkeypatch, fields, *rows)
    assert any("rounded there: a, b." in note for note in notes)
    warned = [record.getMessage() for record in caplog.records if "rounded" in record.getMessage()]
    assert ["rounded there: a." in text for text in warned] == [True, False]
    assert "rounded there: b." in warned[1]


def test_columns_that_keep_all_digits_are_not_told(monkeypatch):
    types = {"table.column.types": "price:STRING"}
    assert not any("rounded" in note for note in told(monkeypatch, {"price": MONEY}, {"price": LONG}, **types))
