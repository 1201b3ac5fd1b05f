"""Checks columns that others add: a row has one record's values; columns of dedup alone hold values as they came."""

from __future__ import annotations

from decimal import Decimal

import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import PlainBigQuery, sql_of
from test_bigquery_compaction import Prompt
from test_bigquery_compaction_columns import with_values
from test_bigquery_divided_records import Life

from connect.api import schema as s
from connect.api.records import Batch
from connectors.bigquery.dedup.dedup_values import own_columns
from connectors.bigquery.dedup.rules import placed
from connectors.bigquery.merge import merge_writer
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs

SETTINGS = {"dedup__fields": "id", "allowNewBigQueryFields": "true", "dedup__compact__interval__ms": "0"}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def with_b(*numbers: int, offset: int = 1) -> Batch:
    messages = [Message(1, offset + place, number, 1, text="old") for place, number in enumerate(numbers)]
    return with_values(messages, {"b": s.INT64.as_optional()}, [{"b": 5} for _ in messages])


def rows_of(service: PlainBigQuery) -> list[tuple[int, str, int | None]]:
    return sorted((row["id"], row["text"], row["b"]) for row in service.rows("orders"))


@pytest.mark.parametrize("modes", [("merge", "merge"), ("compact", "compact")], ids=str)
def test_a_newer_record_keeps_no_value_of_an_older_one_in_a_column_that_it_lacks(service, modes):
    first, second = (Life(service, dedup__mode=mode, **SETTINGS) for mode in modes)
    first.write(batch_of([Message(0, 1, 1, 0)]))
    second.write(with_b(7, 8, 9))
    second.writer.collect()
    for offset, number in enumerate((7, 8), 2):  # the second statement follows one of its own
        first.write(batch_of([Message(0, offset, number, 2, text="new")]))
        first.writer.collect()
    assert rows_of(service) == [(1, "x", None), (7, "new", None), (8, "new", None), (9, "old", 5)]


@pytest.mark.parametrize("delete", ["tombstone", "gone=true"])
def test_deletes_before_the_newer_record_do_not_hide_the_column(service, delete):
    """The statement that remembers deletes runs before the merge, and is the one that looks at the table."""
    first, second = (Life(service, dedup__mode="merge", dedup__delete=delete, **SETTINGS) for _ in range(2))
    first.write(batch_of([Message(0, 1, 1, 0), Message(0, 2, 2, 0)]))
    second.write(with_b(7))
    removed = Message(0, 3, 2, 2, text=None) if delete == "tombstone" else Message(0, 3, 2, 2, gone=True)
    first.write(batch_of([removed, Message(0, 4, 7, 2, text="new")]))
    assert rows_of(service) == [(1, "x", None), (7, "new", None)]


def test_a_log_that_is_merged_before_the_newer_record_does_not_hide_the_column(service, monkeypatch):
    """Statements of the log run before the batch's own merge, and look at the table first."""
    monkeypatch.setattr(merge_writer, "_LOG_LOOK_S", 0.0)
    first, second = (Life(service, dedup__mode="merge", **SETTINGS) for _ in range(2))
    first.write(batch_of([Message(0, 1, 1, 0)]))
    second.write(with_b(7))
    later = Life(service, dedup__mode="compact", **{**SETTINGS, "dedup__compact__interval__ms": "86400000"})
    later.write(batch_of([Message(2, 1, 5, 1, text="logged")]))
    assert len(service.rows("_orders_log")) == 1
    first.write(batch_of([Message(0, 2, 7, 2, text="new")]))
    assert service.rows("_orders_log") == []
    assert rows_of(service) == [(1, "x", None), (5, "logged", None), (7, "new", None)]


def test_a_column_that_a_person_adds_keeps_its_values_while_nobody_else_merges(service):
    life = Life(service, dedup__mode="merge", **SETTINGS)
    life.write(batch_of([Message(0, 1, 1, 0)]))
    add_column(service)
    service.database.execute(f"UPDATE {sql_of('orders')} SET b = 5")
    life.write(batch_of([Message(0, 2, 1, 2, text="new")]))
    assert rows_of(service) == [(1, "new", 5)]


def test_a_column_of_others_that_is_dropped_again_holds_nothing_up(service):
    first, second = (Life(service, dedup__mode="merge", **SETTINGS) for _ in range(2))
    first.write(batch_of([Message(0, 1, 1, 0)]))
    second.write(with_b(7))
    first.write(batch_of([Message(0, 2, 7, 2, text="new")]))
    drop_column(service)
    first.write(batch_of([Message(0, 3, 7, 3, text="newest")]))
    add_column(service)
    assert rows_of(service) == [(1, "x", None), (7, "newest", None)]


def add_column(service: PlainBigQuery) -> None:
    service.database.execute(f"ALTER TABLE {sql_of('orders')} ADD COLUMN b BIGINT")
    service.tables["orders"].resource["schema"]["fields"].append({"name": "b", "type": "INTEGER", "mode": "NULLABLE"})


def drop_column(service: PlainBigQuery) -> None:
    service.database.execute(f"ALTER TABLE {sql_of('orders')} DROP COLUMN b")
    schema = service.tables["orders"].resource["schema"]
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "b"]


@pytest.mark.parametrize(("handling", "kind"), [("FLOAT", "BIGNUMERIC"), ("NUMERIC", "NUMERIC")])
def test_decimals_in_a_column_of_dedup_alone_keep_all_digits(handling, kind):
    settings = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.order.by": "a.version"}
    config = BigQuerySinkConfig.parse({**settings, "decimalHandlingMode": handling})
    members = {"a": s.struct({"version": s.decimal(0)})}
    batch = with_values([Message(0, 1, 1, 0)], members, [{"a": {"version": Decimal(1764500000000000001)}}])
    columns = placed(config.dedup, config.field_names, None)
    found = own_columns(columns, config.dedup, batch, config.type_rules)
    assert {column.name: str(column.type) for column in found}["_dedup_order_1"] == kind
