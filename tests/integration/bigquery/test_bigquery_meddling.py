"""Changes the table or view of a running sink from outside: no record is lost and none is there twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bigquery_oracle import Message
from bigquery_run import Life
from e2e_worker import wait_for

MODES = ("merge", "compact")


def settings(dataset, mode: str, **others: str) -> dict[str, str]:
    return dataset.settings(
        timePartitioningType="NONE", dedup__mode=mode, dedup__compact__interval__ms="0", **others
    )  # fmt: skip


def shown(dataset, mode: str = "merge") -> list[tuple[int, str]]:
    """What readers are told to read."""
    rows = dataset.rows("orders" if mode == "merge" else "orders_latest")
    return [(row["id"], row["text"]) for row in rows]


def compacted(dataset, life: Life, mode: str) -> list[tuple[int, str]]:
    """The table once all that has landed is in it."""

    def is_empty() -> bool:
        life.flush()
        return not dataset.rows("_orders_log")

    if mode == "compact":
        wait_for(is_empty, 60, "the log to be merged")
    return shown(dataset)


@pytest.mark.parametrize(
    ("clause", "mode"),
    [
        *(("PARTITION BY DATE(at)", mode) for mode in MODES),
        ("CLUSTER BY text, id", MODES[0]),
        # Clusters change no statement of any mode.
        *(pytest.param("CLUSTER BY text, id", mode, marks=pytest.mark.chaos) for mode in MODES[1:]),
    ],
)
def test_a_table_that_somebody_partitions_or_clusters_anew_goes_on_exactly(dataset, clause, mode):
    with Life(settings(dataset, mode)) as life:
        life.put([Message(0, 0, 1, 0, text="old"), Message(0, 1, 2, 0, text="old")])
        life.settle()
        compacted(dataset, life, mode)
        name = f"`{dataset.name}`.orders"
        dataset.query(f"CREATE TABLE `{dataset.name}`.copied {clause} AS SELECT * FROM {name}")
        dataset.query(f"DROP TABLE {name}")
        dataset.query(f"CREATE TABLE {name} {clause} AS SELECT * FROM `{dataset.name}`.copied")
        newer = [Message(0, 2, 1, 9, text="new"), Message(0, 3, 3, 9, text="new")]
        life.put(newer)
        life.settle()
        assert shown(dataset, mode) == [(1, "new"), (2, "old"), (3, "new")]
        life.put([replace(message, offset=message.offset + 2) for message in newer])
        life.settle()
        assert compacted(dataset, life, mode) == [(1, "new"), (2, "old"), (3, "new")]


@pytest.mark.parametrize("mode", MODES)
def test_a_table_that_somebody_empties_takes_what_comes_then(dataset, mode):
    with Life(settings(dataset, mode)) as life:
        life.put([Message(0, 0, 1, 0, text="old"), Message(0, 1, 2, 0, text="old")])
        life.settle()
        compacted(dataset, life, mode)
        dataset.query(f"DELETE FROM `{dataset.name}`.orders WHERE TRUE")
        life.put([Message(0, 2, 1, 9, text="new")])
        life.settle()
        assert shown(dataset, mode) == [(1, "new")]
        assert compacted(dataset, life, mode) == [(1, "new")]


@pytest.mark.parametrize("mode", MODES)
def test_an_order_that_goes_back_changes_nothing(dataset, mode, caplog):
    caplog.set_level("INFO")
    with Life(settings(dataset, mode, dedup__order__by="version")) as life:
        life.put([Message(0, 0, 1, 0, version=5, text="five"), Message(0, 1, 2, 0, version=5, text="five")])
        life.settle()
        compacted(dataset, life, mode)
        life.put([Message(0, 2, 1, 9, version=3, text="back"), Message(0, 3, 2, 9, version=6, text="six")])
        life.settle()
        assert shown(dataset, mode) == [(1, "five"), (2, "six")]
        assert compacted(dataset, life, mode) == [(1, "five"), (2, "six")]
    assert "2 rows staged, 0 inserted, 1 updated, 0 deleted, 1 dropped as duplicate or older" in caplog.text


def test_a_view_that_somebody_changes_is_told_costs_no_row_and_a_restart_mends_it(dataset):
    view = f"`{dataset.name}`.orders_latest"
    with Life(settings(dataset, "compact")) as life:
        life.put([Message(0, 0, 1, 0), Message(0, 1, 2, 0)])
        life.settle()
        dataset.query(f"CREATE OR REPLACE VIEW {view} AS SELECT 'else' AS other")
        life.put([Message(0, 2, 3, 0)])
        life.settle()

        def is_told() -> bool:
            life.flush()
            return any("orders_latest was changed by somebody else" in note for note in life.context.noted)

        wait_for(is_told, 60, lambda: f"a note of the view: {life.context.noted}")
        assert dataset.query(f"SELECT * FROM {view}") == [{"other": "else"}], "it is left as it is meanwhile"
    with Life(settings(dataset, "compact")) as again:
        again.put([Message(0, 3, 1, 9, text="new")])
        again.settle()
        again.flush()
        assert not any("orders_latest" in note for note in again.context.noted)
    assert shown(dataset, "compact") == [(1, "new"), (2, "x"), (3, "x")]


@pytest.mark.parametrize("mode", ["compact", "view"])
def test_a_view_that_somebody_drops_is_made_again_while_rows_come(dataset, mode):
    with Life(settings(dataset, mode)) as life:
        life.put([Message(0, 0, 1, 0, text="old"), Message(0, 1, 1, 9, text="new")])
        life.settle()
        dataset.query(f"DROP VIEW `{dataset.name}`.orders_latest")

        def is_back() -> bool:
            life.flush()
            return "orders_latest" in dataset.tables()

        wait_for(is_back, 60, "the view")
        assert shown(dataset, mode) == [(1, "new")]
