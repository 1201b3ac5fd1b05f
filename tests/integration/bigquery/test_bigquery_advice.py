"""Runs the statements that error messages tell people to paste; after them the sink goes on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from bigquery_oracle import Message
from bigquery_run import Life
from google.cloud import bigquery

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline
from connectors.bigquery.dedup.side_tables import KEYS_LABEL
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector


def told_by(act: Callable[[], object]) -> str:
    with pytest.raises(ConnectError) as refused:
        act()
    return str(refused.value)


def validated(settings: dict[str, str]) -> Callable[[], object]:
    return lambda: BigQuerySinkConnector(BigQuerySinkConfig.parse({**settings, "topics": "orders"})).check(
        Deadline.after(60)
    )


def put(settings: dict[str, str], message: Message) -> None:
    with Life(settings) as life:
        life.put([message])
        life.settle()


def test_the_primary_key_that_changes_need_is_added_as_it_is_printed(dataset):
    table = bigquery.Table(f"{dataset.project}.{dataset.name}.orders", schema=[bigquery.SchemaField("id", "INT64")])
    dataset.client.create_table(table)
    settings = dataset.settings(dedup__mode="cdc", allowNewBigQueryFields="true")
    with Life(settings) as life:
        told = told_by(lambda: life.put([Message(0, 0, 1, 0)]))
    found = re.search(r"ALTER TABLE .* NOT ENFORCED", told)
    assert found, told
    dataset.query(found[0])
    constraints = dataset.client.get_table(f"{dataset.name}.orders").table_constraints
    assert constraints.primary_key.columns == ["id"]
    with Life(settings) as life:
        life.put([Message(0, 0, 1, 0)])


def test_the_column_of_a_key_is_added_and_filled_as_it_is_printed(dataset):
    dataset.query(f"CREATE TABLE `{dataset.name}`.orders (id INT64, region STRING, place STRUCT<number INT64>)")
    dataset.query(f"INSERT INTO `{dataset.name}`.orders VALUES (1, 'eu', STRUCT(7))")
    told = told_by(validated(dataset.settings(dedup__fields="place.number")))
    found = re.search(r"(ALTER TABLE .* TYPE); (UPDATE .* WHERE TRUE)\.", told)
    assert found, told
    dataset.query(found[1].replace(" TYPE", " INT64"))
    dataset.query(found[2])
    assert [row["_dedup_key_1"] for row in dataset.rows("orders")] == [7]
    validated(dataset.settings(dedup__fields="place.number"))()


def test_the_label_of_keys_is_taken_off_as_it_is_printed(dataset):
    put(dataset.settings(), Message(0, 0, 1, 0))
    told = told_by(validated(dataset.settings(dedup__fields="region")))
    found = re.search(r"bq update --clear_label (\S+) ([^:]+):([\w.]+)", told)
    assert found, told
    assert found[1] == KEYS_LABEL
    # What `bq` sends: the label with null in place of its value.
    table = dataset.client.get_table(f"{found[2]}.{found[3]}")
    table.labels = {**table.labels, found[1]: None}
    dataset.client.update_table(table, ["labels"])
    validated(dataset.settings(dedup__fields="region"))()
    put(dataset.settings(dedup__fields="region"), Message(0, 1, 2, 9, text="new"))
    assert [(row["id"], row["text"]) for row in dataset.rows("orders")] == [(2, "new")]
