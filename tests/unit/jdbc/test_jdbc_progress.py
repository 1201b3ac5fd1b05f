"""Checks up to which time everything that a database held is in Kafka."""

from __future__ import annotations

from connect.api.records import SourcePosition
from connectors.jdbc.settled.progress import StoredProgress


def at(table: str, id_: int) -> SourcePosition:
    return SourcePosition({"table": table}, {"id": id_})


def test_a_pass_without_rows_counts_at_once_and_nothing_is_known_before_the_first():
    progress = StoredProgress(["a"], 100.0)
    assert progress.caught_up_s == 100.0
    progress.read("a", None)
    assert progress.caught_up_s == 100.0
    progress.read("a", 110.0)
    assert progress.caught_up_s == 110.0


def test_rows_that_are_not_stored_are_lag_and_so_is_what_is_read_behind_them():
    progress = StoredProgress(["a"], 100.0)
    progress.given("a", at("a", 1))
    progress.given("a", at("a", 2))
    progress.read("a", 110.0)
    progress.read("a", 120.0)
    assert progress.caught_up_s == 100.0
    progress.stored([at("a", 1)])
    assert progress.caught_up_s == 100.0, "the pass has a row that is not stored"
    progress.stored([at("a", 2)])
    assert progress.caught_up_s == 120.0


def test_a_table_is_behind_while_rows_wait_or_its_pass_is_not_over():
    progress = StoredProgress(["a", "b"], 100.0)
    assert progress.is_behind, "nothing was read"
    progress.read("a", 110.0)
    assert progress.is_behind, "b was not read"
    progress.read("b", 111.0)
    assert not progress.is_behind
    progress.given("a", at("a", 1))
    progress.stored([at("a", 1)])
    progress.read("a", 110.0)
    assert progress.is_behind, "the pass that gave the row is not over"
    progress.read("a", 120.0)
    assert not progress.is_behind
    progress.given("b", at("b", 1))
    progress.read("b", 121.0)
    assert progress.is_behind, "the row is not stored"
    progress.stored([at("b", 1)])
    assert not progress.is_behind


def test_the_last_position_of_several_tells_of_all_before_it():
    progress = StoredProgress(["a"], 100.0)
    for id_ in (1, 2, 3):
        progress.given("a", at("a", id_))
        progress.read("a", 100.0 + id_)
    progress.stored([at("a", 2)])
    assert progress.caught_up_s == 102.0
    progress.stored([at("other", 9)])
    assert progress.caught_up_s == 102.0


def test_the_table_furthest_behind_counts():
    progress = StoredProgress(["a", "b"], 100.0)
    progress.read("a", 500.0)
    assert progress.caught_up_s == 100.0
    progress.read("b", 300.0)
    assert progress.caught_up_s == 300.0


def test_a_table_of_several_partitions_waits_for_all_of_them():
    progress = StoredProgress(["a"], 100.0)
    progress.given("a", at("range 1", 1))
    progress.given("a", at("range 2", 2))
    progress.read("a", 200.0)
    progress.stored([at("range 2", 2)])
    assert progress.caught_up_s == 100.0
    progress.stored([at("range 1", 1)])
    assert progress.caught_up_s == 200.0


def test_an_old_commit_that_was_stored_replaces_the_time_the_task_began():
    progress = StoredProgress(["log"], 100.0)
    progress.given("log", at("log", 1))
    progress.read("log", 40.0)
    progress.stored([at("log", 1)])
    assert progress.caught_up_s == 40.0
