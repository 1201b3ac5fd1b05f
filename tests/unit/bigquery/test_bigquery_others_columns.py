"""Columns that a table has for dedup alone hold the values as they came."""

from __future__ import annotations

from decimal import Decimal

import pytest
from bigquery_oracle import Message
from test_bigquery_compaction_columns import with_values

from connect.api import schema as s
from connectors.bigquery.dedup.dedup_values import own_columns
from connectors.bigquery.dedup.rules import placed
from connectors.bigquery.settings.config import BigQuerySinkConfig


@pytest.mark.parametrize(("handling", "kind"), [("FLOAT", "BIGNUMERIC"), ("NUMERIC", "NUMERIC")])
def test_decimals_in_a_column_of_dedup_alone_keep_all_digits(handling, kind):
    settings = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.order.by": "a.version"}
    config = BigQuerySinkConfig.parse({**settings, "decimalHandlingMode": handling})
    members = {"a": s.struct({"version": s.decimal(0)})}
    batch = with_values([Message(0, 1, 1, 0)], members, [{"a": {"version": Decimal(1764500000000000001)}}])
    columns = placed(config.dedup, config.field_names, None)
    found = own_columns(columns, config.dedup, batch, config.type_rules)
    assert {column.name: str(column.type) for column in found}["_dedup_order_1"] == kind
