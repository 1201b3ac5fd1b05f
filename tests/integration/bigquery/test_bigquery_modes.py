"""Replays records out of order under dedup.mode=view and dedup.mode=cdc: what is shown equals the model in plain
Python.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from bigquery_oracle import Message, behind_tombstones, latest
from bigquery_run import Life, model_by_key, rows_by_key
from bigquery_write_shim import WriteShim
from e2e_worker import wait_for
from google.cloud import bigquery

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector


@pytest.fixture
def captured(dataset) -> Iterator[dict[str, str]]:
    """Settings for change data capture, which the emulator has by a shim."""
    if not dataset.is_emulated:
        yield dataset.settings(dedup__mode="cdc", dedup__max__staleness="none")
        return
    with WriteShim(dataset.settings()["bigquery.storage.endpoint"], dataset.client) as shim:
        yield {**dataset.settings(dedup__mode="cdc"), "bigquery.storage.endpoint": shim.endpoint}


def log_of(seed: int, count: int) -> list[list[Message]]:
    """Two partitions about few ids: duplicates, versions out of order, deletes."""
    chance = random.Random(seed)
    found: list[list[Message]] = [[], []]
    for _ in range(count):
        partition = chance.randrange(2)
        offset = len(found[partition])
        text = None if chance.random() < 0.2 else f"{partition}@{offset}"
        found[partition].append(Message(partition, offset, chance.randrange(6), chance.randrange(-9, 9), text=text))
    return found


def live_twice(settings: dict[str, str], partitions: list[list[Message]]) -> None:
    """A life that is not committed, and one that begins anew, in other batches and another order of partitions."""
    first = Life(settings)
    for messages in partitions:
        for start in range(0, len(messages), 7):
            first.put(messages[start : start + 7])
    first.settle()
    first.task.close()
    with Life(settings) as second:
        for messages in reversed(partitions):
            for start in range(0, len(messages), 11):
                second.put(messages[start : start + 11])
        second.settle()


@pytest.mark.parametrize("way", [{}, {"useStorageWriteApi": "true"}], ids=["insertAll", "storage"])
def test_a_view_shows_one_row_per_key(dataset, way):
    partitions = log_of(1, 60)
    live_twice({**dataset.settings(dedup__mode="view", timePartitioningType="NONE"), **way}, partitions)
    assert rows_by_key(dataset.rows("orders_latest")) == model_by_key(latest([m for p in partitions for m in p]))
    assert len(dataset.rows("orders")) >= 60


@pytest.mark.parametrize("others", [{}, {"dedup.order.by": "version"}], ids=["time", "version"])
def test_a_log_is_shown_at_once_and_compacted_into_the_table(dataset, others):
    partitions = [[m if i % 2 else replace(m, id=m.id + 10) for m in p] for i, p in enumerate(log_of(3, 60))]
    messages = [m for p in partitions for m in p]
    by_version = bool(others)
    model = model_by_key(latest(behind_tombstones(messages) if by_version else messages, by_version=by_version))
    settings = {**dataset.settings(dedup__mode="compact", timePartitioningType="NONE"), **others}
    live_twice({**settings, "dedup.compact.percent": "1000000"}, partitions)
    assert rows_by_key(dataset.rows("orders_latest")) == model
    with Life({**settings, "dedup.compact.interval.ms": "0"}) as life:
        life.put(partitions[0][:3])

        def is_compacted() -> bool:
            life.flush()
            return dataset.query(f"SELECT COUNT(*) AS n FROM `{dataset.name}`.`_orders_log`")[0]["n"] == 0

        wait_for(is_compacted, 180, f"an empty log; {life.warnings[-3:]}")
    assert rows_by_key(dataset.rows("orders")) == model
    assert rows_by_key(dataset.rows("orders_latest")) == model


def test_a_view_shows_columns_that_are_added_later(dataset):
    with Life(dataset.settings(dedup__mode="view", allowNewBigQueryFields="true")) as life:
        table = bigquery.Table(f"{dataset.project}.{dataset.name}.orders")
        table.schema = [bigquery.SchemaField("id", "INT64"), bigquery.SchemaField("region", "STRING")]
        dataset.client.create_table(table)
        life.put([Message(0, 0, 1, 0, text="first")])
        life.put([Message(0, 1, 1, 1, text="second")])
        life.settle()
    assert [(row["id"], row["text"]) for row in dataset.rows("orders_latest")] == [(1, "second")]


@pytest.mark.parametrize(
    "keys", [{}, {"dedup.fields": "__key.id,region", "kafkaKeyFieldName": "key"}], ids=["column", "member"]
)
def test_a_delete_that_was_merged_hides_older_records_that_a_view_gets(dataset, keys):
    given = {**dataset.settings(timePartitioningType="NONE"), **keys}
    with Life({**given, "dedup.mode": "merge"}) as merged:
        merged.put([Message(0, 0, 1, 5), Message(0, 1, 2, 5), Message(0, 2, 1, 6, text=None)])
        merged.settle()
    with Life({**given, "dedup.mode": "view"}) as viewed:
        viewed.put([Message(1, 0, 1, 4, text="older"), Message(1, 1, 2, 8, text="newer")])
        viewed.settle()
        assert [(row["id"], row["text"]) for row in dataset.rows("orders_latest")] == [(2, "newer")]
        viewed.put([Message(1, 2, 1, 9, text="anew")])
        viewed.settle()
    assert [(row["id"], row["text"]) for row in dataset.rows("orders_latest")] == [(1, "anew"), (2, "newer")]


def test_changes_are_applied_by_the_primary_key_in_their_order(dataset, captured):
    partitions = log_of(2, 60)
    live_twice(captured, partitions)
    rows = dataset.rows("orders")
    assert rows_by_key(rows) == model_by_key(latest([m for p in partitions for m in p]))
    table = dataset.client.get_table(f"{dataset.name}.orders")
    assert table.table_constraints.primary_key.columns == ["id"]
    assert table.clustering_fields == ["id"]


def test_a_table_without_the_primary_key_is_refused_with_the_statement_that_makes_it(dataset, captured):
    schema = [bigquery.SchemaField("id", "INT64")]
    dataset.client.create_table(bigquery.Table(f"{dataset.project}.{dataset.name}.orders", schema=schema))
    with (
        Life({**captured, "allowNewBigQueryFields": "true"}) as life,
        pytest.raises(ConfigError, match=r"orders has no primary key.*ALTER TABLE .* ADD PRIMARY KEY \(id\)"),
    ):
        life.put([Message(0, 0, 1, 0)])


def test_a_table_of_every_record_is_refused_by_a_mode_of_one_row_per_key_and_its_copy_is_not(dataset):
    given = {"timePartitioningType": "NONE", "dedup__mode": "view"}
    with Life(dataset.settings(**given)) as frozen:
        frozen.put([Message(0, 0, 1, 0, text="old"), Message(0, 1, 1, 9, text="new"), Message(0, 2, 2, 0)])
        frozen.put([Message(1, 0, 3, 9, text=None)])
        frozen.settle()
        for mode in ("merge", "compact", "auto"):
            with (
                Life(dataset.settings(**{**given, "dedup__mode": mode})) as other,
                pytest.raises(ConfigError, match=r"holds every record.*CREATE TABLE") as refused,
            ):
                other.put([Message(0, 3, 1, 20, text="newest")])
        assert len(dataset.rows("orders")) == 4, "nothing is changed"
        fix = str(refused.value.fix)
        assert "Deletes are not copied: an older record that comes late" in fix
        dataset.query(fix.partition("run ")[2].partition(", which")[0])
        assert rows_of(dataset) == [(1, "new"), (2, "x")]
        copied = {"dedup__mode": "merge", "topic2TableMap": "orders:orders_rows"}
        with Life(dataset.settings(**{**given, **copied})) as merged:
            merged.put([Message(0, 3, 1, 20, text="newest"), Message(0, 4, 2, -5, text="older"), Message(0, 5, 3, 0)])
            merged.settle()
        frozen.put([Message(0, 3, 1, 20, text="newest"), Message(0, 4, 2, -5, text="older")])
        frozen.settle()
    assert rows_of(dataset) == [(1, "newest"), (2, "x"), (3, "x")], "whoever goes on in the mode of before"


def rows_of(dataset) -> list[tuple[int, str]]:
    return [(row["id"], row["text"]) for row in dataset.rows("orders_rows")]


def test_a_table_of_changes_stays_one_until_its_rows_are_copied(dataset, captured):
    with Life(captured) as changes:
        changes.put([Message(0, 0, 1, 5, text="first"), Message(0, 1, 2, 5, text="second")])
        changes.settle()
    for mode in ("merge", "compact", "auto", "view"):
        other = {**captured, "dedup.mode": mode}
        with pytest.raises(ConfigError, match=r"was written by dedup\.mode=cdc") as invalid:
            BigQuerySinkConnector(BigQuerySinkConfig.parse({**other, "topics": "orders"})).check(Deadline.after(60))
        with Life(other) as life, pytest.raises(ConfigError, match=r"cannot go on with it") as refused:
            life.put([Message(0, 2, 1, 9)])
        assert str(refused.value.fix) in str(invalid.value)
    assert len(dataset.rows("orders")) == 2, "nothing is changed"
    copy = str(refused.value.fix).partition("and CREATE")[2].partition(", and name")[0]
    dataset.query(f"CREATE{copy}")
    with Life({**captured, "dedup.mode": "merge", "topic2TableMap": "orders:orders_rows"}) as merged:
        merged.put([Message(0, 0, 1, 5, text="first"), Message(0, 2, 1, 9, text="newer"), Message(1, 0, 2, 4)])
        merged.settle()
    assert rows_of(dataset) == [(1, "newer"), (2, "second")]


@pytest.mark.parametrize("before", ["merge", "auto", "compact", "view"])
def test_a_table_that_another_mode_has_written_takes_no_changes(dataset, captured, before):
    with Life({**captured, "dedup.mode": before, "table.primary.key": "id", "dedup.compact.interval.ms": "0"}) as life:
        life.put([Message(0, 0, 1, 5)])
        life.settle()
        wait_for(lambda: life.flush() or is_empty(dataset, "_orders_log"), 180, "an empty log")
    with Life(captured) as changes, pytest.raises(ConfigError, match=r"was merged|holds every record") as refused:
        changes.put([Message(0, 1, 1, 9)])
    if before != "view":
        assert "topic2TableMap" in str(refused.value.fix)


def is_empty(dataset, table: str) -> bool:
    return table not in dataset.tables() or not dataset.rows(table)
