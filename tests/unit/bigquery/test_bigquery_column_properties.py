"""A change of a table's columns keeps what somebody else has set on those that were there."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from google.cloud import bigquery
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient

from connectors.bigquery.rows.table_schema import NULLABLE, Columns, ColumnSchema, ColumnType
from connectors.bigquery.warehouse.warehouse import Warehouse

TAGS = {"names": ["projects/p/locations/eu/taxonomies/1/policyTags/2"]}
ID = {
    "name": "id", "type": "INTEGER", "mode": "REQUIRED", "description": "the key", "policyTags": TAGS,
    "defaultValueExpression": "7",
}  # fmt: skip
PLACE = {
    "name": "place", "type": "RECORD", "mode": "NULLABLE", "description": "where",
    "fields": [{"name": "street", "type": "STRING", "mode": "NULLABLE", "description": "and number"}],
}  # fmt: skip


def _with_more(columns: Columns) -> Columns:
    """Relax the first column, and add a member and a column."""
    key, place = columns
    town = ColumnSchema("town", ColumnType.STRING)
    return (replace(key, mode=NULLABLE), replace(place, fields=(*place.fields, town)), ColumnSchema("s", town.type))


@pytest.fixture
def service() -> PlainBigQuery:
    made = PlainBigQuery(random.Random(1))
    PlainClient(made).create_table(
        bigquery.Table.from_api_repr(
            {
                "tableReference": {"projectId": PROJECT, "datasetId": DATASET, "tableId": "orders"},
                "schema": {"fields": [ID, PLACE]},
            }
        )
    )
    return made


def test_columns_keep_descriptions_policy_tags_and_defaults_when_the_table_gets_others(service):
    Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=1).change_columns("orders", _with_more)
    key, place, text = service.stored("orders").resource["schema"]["fields"]
    assert key == {**ID, "mode": "NULLABLE"}
    assert place["description"] == "where"
    assert [(member["name"], member.get("description")) for member in place["fields"]] == [
        ("street", "and number"), ("town", None)
    ]  # fmt: skip
    assert text["name"] == "s"
