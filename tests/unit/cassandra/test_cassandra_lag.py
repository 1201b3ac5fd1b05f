"""Checks how far a Cassandra source is behind, by the sweeps whose ends are stored."""

from __future__ import annotations

from uuid import UUID

from connect.api.records import SourcePosition
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.splits import Split, SplitProgress, cut
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source.stored_sweeps import StoredSweeps
from connectors.cassandra.source.sweeps import Sweep, Window

FIRST, SECOND = cut(Table(UUID(int=1), "ks", "t", [TableColumn("k", CqlType("int"))]), 2)
OPENED_S = 1000.0


def place(split: Split, sweep: Sweep, *, is_end: bool) -> SourcePosition:
    progress = SplitProgress(split.upto if is_end else split.after + 1, finished=is_end)
    return SourcePosition(split.partition, {**progress.offset, **sweep.offset})


def test_a_source_is_behind_until_the_end_of_each_splits_first_sweep_is_stored():
    lag = StoredSweeps(OPENED_S)
    for split in (FIRST, SECOND):
        lag.begun(split, Sweep(), OPENED_S)
    assert lag.is_behind, "nobody knows yet what there is"
    for split in (FIRST, SECOND):
        lag.given(split, 7, is_last=True)
    lag.stored([place(FIRST, Sweep(), is_end=True), place(SECOND, Sweep(), is_end=False)])
    assert lag.is_behind, "the second split has rows that are not stored"
    lag.stored([place(SECOND, Sweep(), is_end=True)])
    assert not lag.is_behind


def test_a_sweep_that_finds_nothing_is_not_behind_and_needs_nothing_stored():
    lag = StoredSweeps(OPENED_S)
    lag.begun(FIRST, Sweep(), OPENED_S)
    lag.given(FIRST, 0, is_last=True)
    assert not lag.is_behind, "an empty table"
    for number, at_s in enumerate((1500.0, 1600.0), start=1):
        lag.begun(FIRST, Sweep(number), at_s)
        assert not lag.is_behind, "nothing is known of that is not in Kafka"
        lag.given(FIRST, 0, is_last=True)
        assert (lag.is_behind, lag.caught_up_s) == (False, at_s)


def test_all_is_there_up_to_the_beginning_of_the_oldest_sweep_that_was_stored():
    lag = StoredSweeps(OPENED_S)
    for split, at_s in ((FIRST, 1500.0), (SECOND, 1600.0)):
        lag.begun(split, Sweep(1), at_s)
        lag.given(split, 1, is_last=True)
    assert lag.caught_up_s == OPENED_S
    lag.stored([place(FIRST, Sweep(1), is_end=True), place(SECOND, Sweep(1), is_end=True)])
    assert lag.caught_up_s == 1500.0
    lag.begun(FIRST, Sweep(2), 1700.0)
    lag.given(FIRST, 3, is_last=False)
    assert lag.is_behind
    lag.stored([place(FIRST, Sweep(1), is_end=True)])
    assert lag.is_behind, "the end of the sweep before says nothing of this one"
    lag.given(FIRST, 0, is_last=True)
    lag.stored([place(FIRST, Sweep(2), is_end=True)])
    assert (lag.is_behind, lag.caught_up_s) == (False, 1600.0)


def test_an_empty_sweep_behind_one_that_is_not_stored_proves_nothing_yet():
    lag = StoredSweeps(OPENED_S)
    for number, rows in enumerate((1, 0)):
        lag.begun(FIRST, Sweep(number), 1500.0 + number)
        lag.given(FIRST, rows, is_last=True)
    assert (lag.is_behind, lag.caught_up_s) == (True, OPENED_S)
    lag.stored([place(FIRST, Sweep(0), is_end=True)])
    assert (lag.is_behind, lag.caught_up_s) == (False, 1501.0)


def test_a_window_says_itself_up_to_when_its_rows_are_there():
    lag = StoredSweeps(OPENED_S)
    lag.ended(FIRST, Sweep(3, Window(0, 900_000)))
    assert (lag.is_behind, lag.caught_up_s) == (False, 900.0)
    window = Sweep(4, Window(900_000, 1_990_000))
    lag.begun(FIRST, window, 2000.0)
    lag.given(FIRST, 1, is_last=True)
    lag.stored([place(FIRST, window, is_end=True)])
    assert (lag.is_behind, lag.caught_up_s) == (False, 1990.0)


def test_what_is_stored_of_other_partitions_is_passed_over():
    lag = StoredSweeps(OPENED_S)
    lag.begun(FIRST, Sweep(), OPENED_S)
    lag.stored([place(SECOND, Sweep(), is_end=True)])
    assert lag.is_behind
