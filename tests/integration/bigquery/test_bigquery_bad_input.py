"""Checks that each fault outside of the sink gets a clear error, harms nothing else, and loses nothing."""

from __future__ import annotations

import pytest
from bigquery_oracle import Message
from bigquery_run import Life
from google.cloud import bigquery

from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.lib.deadline import Deadline
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector

Field = bigquery.SchemaField
ROW = [
    Field("id", "INT64"),
    Field("region", "STRING"),
    Field("text", "STRING"),
    Field("gone", "BOOL"),
    Field("at", "TIMESTAMP"),
]


def create(dataset, *fields: bigquery.SchemaField, name: str = "orders") -> None:
    dataset.client.create_table(bigquery.Table(f"{dataset.project}.{dataset.name}.{name}", schema=fields))


def text_of(dataset) -> list[tuple[int, str]]:
    return [(row["id"], row["text"]) for row in dataset.rows("orders")]


def test_a_dataset_that_is_missing_is_named_before_anything_runs(dataset):
    settings = {**dataset.settings(), "defaultDataset": "nowhere"}
    connector = BigQuerySinkConnector(BigQuerySinkConfig.parse(settings))
    with pytest.raises(ConfigError, match=r"nowhere does not exist") as missing:
        connector.check(Deadline.after(10))
    assert missing.value.problems[0].key == "defaultDataset"


def checked(dataset, **settings: str) -> dict[str, str]:
    """The problems that validation finds, by key."""
    config = BigQuerySinkConfig.parse({**dataset.settings(**settings), "topics": "orders"})
    with pytest.raises(ConfigError) as found:
        BigQuerySinkConnector(config).check(Deadline.after(10))
    return {problem.key: problem.message for problem in found.value.problems}


def test_validation_names_table_field_and_fix_before_a_record_comes(dataset):
    name = f"{dataset.project}.{dataset.name}.orders"
    told = checked(dataset, autoCreateTables="false")["autoCreateTables"]
    assert told == f"Table {name} does not exist. Create it, or set autoCreateTables=true."
    create(dataset, Field("id", "FLOAT64"), Field("tags", "STRING", "REPEATED"), Field("at", "STRING"))
    found = checked(
        dataset, dedup__order__by="tags,version", dedup__window="3d", timestampPartitionFieldName="at",
    )  # fmt: skip
    assert f"Table {name}: column id, which dedup.fields names, is a FLOAT" in found["dedup.fields"]
    assert "NUMERIC" in found["dedup.fields"]
    assert f"Table {name} has no column version, which dedup.order.by names" in found["dedup.order.by"]
    assert "no column at that is a date or a timestamp" in found["timestampPartitionFieldName"]
    assert (
        "no column no_such, which dedup.fields names; it has id, tags, at"
        in (checked(dataset, dedup__fields="no_such")["dedup.fields"])
    )
    BigQuerySinkConnector(
        BigQuerySinkConfig.parse(
            {**dataset.settings(dedup__fields="no_such", allowNewBigQueryFields="true"), "topics": "orders"}
        )
    ).check(Deadline.after(10))


def test_a_float_column_is_refused_as_a_key_when_records_come(dataset):
    create(dataset, Field("id", "FLOAT64"), *ROW[1:], Field("version", "INT64"))
    with Life(dataset.settings()) as life, pytest.raises(ConfigError, match=r"orders: column id.*is a FLOAT"):
        life.put([Message(0, 0, 1, 0)])


def test_a_value_out_of_range_is_one_bad_row(dataset):
    create(dataset, *ROW, Field("version", "NUMERIC", precision=3, scale=0))
    with Life(dataset.settings()) as life:
        life.put([Message(0, 0, 1, 0, version=7), Message(0, 1, 2, 0, version=1000), Message(0, 2, 3, 0, version=999)])
        life.settle()
    assert text_of(dataset) == [(1, "x"), (3, "x")]
    assert "does not fit column version (NUMERIC)" in str(life.bad["orders", 0, 1])


def test_a_type_that_has_no_place_in_the_column_names_both(dataset):
    create(dataset, *ROW, Field("version", "DATE"))
    with Life(dataset.settings()) as life, pytest.raises(SchemaError, match=r"'version'.*int64.*column version.*DATE"):
        life.put([Message(0, 0, 1, 0)])


def test_a_column_that_is_missing_is_named_with_the_setting_that_adds_it(dataset):
    create(dataset, *ROW)
    with (
        Life(dataset.settings()) as life,
        pytest.raises(SchemaError, match=r"no column version.*allowNewBigQueryFields"),
    ):
        life.put([Message(0, 0, 1, 0)])
    with Life(dataset.settings(allowNewBigQueryFields="true")) as life:
        life.put([Message(0, 0, 1, 0, version=5)])
        life.settle()
    assert [row["version"] for row in dataset.rows("orders")] == [5]
    with Life(dataset.settings()) as life:
        life.put([Message(0, 1, 1, 9, version=6)])
        life.settle()
    assert [row["version"] for row in dataset.rows("orders")] == [6]


def test_a_required_column_that_the_records_lack_is_named_and_may_be_relaxed(dataset):
    create(dataset, *ROW, Field("version", "INT64"), Field("owner", "STRING", "REQUIRED"))
    with Life(dataset.settings()) as life, pytest.raises(SchemaError, match="owner is REQUIRED"):
        life.put([Message(0, 0, 1, 0)])
    with Life(dataset.settings(allowBigQueryRequiredFieldRelaxation="true")) as life:
        life.put([Message(0, 0, 1, 0)])
        life.settle()
    assert text_of(dataset) == [(1, "x")]


def test_unknown_fields_may_be_left_out(dataset):
    create(dataset, *ROW)
    with Life(dataset.settings(ignoreUnknownFields="true")) as life:
        life.put([Message(0, 0, 1, 0, version=5)])
        life.settle()
    assert "version" not in dataset.rows("orders")[0]


@pytest.mark.parametrize(("field", "told"), [("nothing", "no such field"), ("at.x", "no such field")])
def test_a_dedup_field_that_the_records_lack_is_named(dataset, field, told):
    with Life(dataset.settings(dedup__fields=field)) as life, pytest.raises(SchemaError, match=told) as lacking:
        life.put([Message(0, 0, 1, 0)])
    assert field in str(lacking.value)
    assert "orders" in str(lacking.value)


def test_a_record_without_a_key_ends_the_task_unless_told_otherwise(dataset):
    with Life(dataset.settings()) as life, pytest.raises(ConnectError, match=r"orders-0@1: the record has no id.*dlq"):
        life.put([Message(0, 0, 1, 0), Message(0, 1, None, 0)])


WAYS = {
    "merge": {},
    "insertAll": {"dedup.mode": "none"},
    "storage": {"dedup.mode": "none", "useStorageWriteApi": "true"},
    "load": {"dedup.mode": "none", "enableBatchLoad": "orders", "batchLoadIntervalSec": "1"},
    "exactly once": {"dedup.mode": "none", "exactly.once": "true"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_table_that_is_dropped_meanwhile_is_made_again(dataset, way):
    with Life({**dataset.settings(timePartitioningType="NONE"), **WAYS[way]}) as life:
        life.put([Message(0, 0, 1, 0)])
        life.settle()
        dataset.client.delete_table(f"{dataset.name}.orders")
        life.put([Message(0, 1, 2, 0)])
        life.settle()
    assert text_of(dataset) == [(2, "x")]


def test_a_table_that_is_dropped_meanwhile_and_may_not_be_made_is_named(dataset):
    create(dataset, *ROW, Field("version", "INT64"))
    with Life(dataset.settings(autoCreateTables="false")) as life:
        life.put([Message(0, 0, 1, 0)])
        life.settle()
        dataset.client.delete_table(f"{dataset.name}.orders")
        life.put([Message(0, 1, 2, 0)])
        with pytest.raises(ConfigError, match=r"orders does not exist.*autoCreateTables=true"):
            life.settle()


def test_a_column_that_somebody_adds_meanwhile_stays(dataset):
    with Life(dataset.settings()) as life:
        life.put([Message(0, 0, 1, 0)])
        life.settle()
        table = dataset.client.get_table(f"{dataset.name}.orders")
        table.schema = [*table.schema, Field("note", "STRING")]
        dataset.client.update_table(table, ["schema"])
        dataset.query(f"UPDATE `{dataset.name}`.orders SET note = 'kept' WHERE TRUE")
        life.put([Message(0, 1, 1, 9, text="newer")])
        life.settle()
    assert [(row["text"], row["note"]) for row in dataset.rows("orders")] == [("newer", "kept")]
