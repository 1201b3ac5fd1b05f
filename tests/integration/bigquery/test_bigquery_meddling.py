"""What somebody does to the table or view of a running sink: no record is lost and none is twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bigquery_oracle import Message
from bigquery_run import Life


def shown(dataset) -> list[tuple[int, str]]:
    return [(row["id"], row["text"]) for row in dataset.rows("orders")]


@pytest.mark.parametrize("clause", ["PARTITION BY DATE(at)", "CLUSTER BY text, id"])
def test_a_table_that_somebody_partitions_or_clusters_anew_goes_on_exactly(dataset, clause):
    with Life(dataset.settings(timePartitioningType="NONE", dedup__mode="merge")) as life:
        life.put([Message(0, 0, 1, 0, text="old"), Message(0, 1, 2, 0, text="old")])
        life.settle()
        name = f"`{dataset.name}`.orders"
        dataset.query(f"CREATE TABLE `{dataset.name}`.copied {clause} AS SELECT * FROM {name}")
        dataset.query(f"DROP TABLE {name}")
        dataset.query(f"CREATE TABLE {name} {clause} AS SELECT * FROM `{dataset.name}`.copied")
        newer = [Message(0, 2, 1, 9, text="new"), Message(0, 3, 3, 9, text="new")]
        life.put(newer)
        life.settle()
        life.put([replace(message, offset=message.offset + 2) for message in newer])
        life.settle()
    assert shown(dataset) == [(1, "new"), (2, "old"), (3, "new")]


def test_a_table_that_somebody_empties_takes_what_comes_then(dataset):
    with Life(dataset.settings(timePartitioningType="NONE", dedup__mode="merge")) as life:
        life.put([Message(0, 0, 1, 0, text="old"), Message(0, 1, 2, 0, text="old")])
        life.settle()
        dataset.query(f"DELETE FROM `{dataset.name}`.orders WHERE TRUE")
        life.put([Message(0, 2, 1, 9, text="new")])
        life.settle()
    assert shown(dataset) == [(1, "new")]


def test_a_view_that_somebody_changes_costs_no_row_and_a_restart_mends_it(dataset):
    settings = dataset.settings(timePartitioningType="NONE", dedup__mode="compact", dedup__compact__interval__ms="0")
    view = f"`{dataset.name}`.orders_latest"
    with Life(settings) as life:
        life.put([Message(0, 0, 1, 0), Message(0, 1, 2, 0)])
        life.settle()
        dataset.query(f"CREATE OR REPLACE VIEW {view} AS SELECT 'else' AS other")
        life.put([Message(0, 2, 3, 0)])
        life.settle()
        assert dataset.query(f"SELECT * FROM {view}") == [{"other": "else"}], "it is left as it is meanwhile"
    with Life(settings) as again:
        again.put([Message(0, 3, 1, 9, text="new")])
        again.settle()
    assert [(row["id"], row["text"]) for row in dataset.rows("orders_latest")] == [(1, "new"), (2, "x"), (3, "x")]
