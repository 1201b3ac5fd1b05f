"""Columns that another connector adds: a row has the values of one record, whoever merges it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import PlainBigQuery
from test_bigquery_compaction import Prompt
from test_bigquery_compaction_columns import with_values
from test_bigquery_divided_records import Life

from connect.api import schema as s
from connectors.bigquery.dedup.dedup_values import own_columns
from connectors.bigquery.dedup.rules import placed
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs

SETTINGS = {"dedup__mode": "merge", "dedup__fields": "id", "allowNewBigQueryFields": "true"}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def test_a_newer_record_keeps_no_value_of_an_older_one_in_a_column_that_it_lacks(service):
    first, second = Life(service, **SETTINGS), Life(service, **SETTINGS)
    first.write(batch_of([Message(0, 1, 1, 0)]))
    second.write(with_values([Message(1, 1, 7, 1, text="old")], {"b": s.INT64.as_optional()}, [{"b": 5}]))
    first.write(batch_of([Message(0, 2, 7, 2, text="new")]))
    assert [(row["id"], row["text"], row["b"]) for row in service.rows("orders")] == [(1, "x", None), (7, "new", None)]


@pytest.mark.parametrize(("handling", "kind"), [("FLOAT", "BIGNUMERIC"), ("NUMERIC", "NUMERIC")])
def test_decimals_in_a_column_of_dedup_alone_keep_all_digits(handling, kind):
    settings = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.order.by": "a.version"}
    config = BigQuerySinkConfig.parse({**settings, "decimalHandlingMode": handling})
    members = {"a": s.struct({"version": s.decimal(0)})}
    batch = with_values([Message(0, 1, 1, 0)], members, [{"a": {"version": Decimal(1764500000000000001)}}])
    columns = placed(config.dedup, config.field_names, None)
    found = own_columns(columns, config.dedup, batch, config.type_rules)
    assert {column.name: str(column.type) for column in found}["_dedup_order_1"] == kind
