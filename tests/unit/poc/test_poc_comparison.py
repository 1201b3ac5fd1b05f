"""Compares two runs: what is lost, doubled, changed and out of order is counted, and nothing else."""

from __future__ import annotations

import pytest

from connect.api.records import TopicPartition
from connect.poc.sandbox.run_comparison import as_far_as, compare
from connect.poc.sandbox.topic_rows import PartitionRows, TopicRows


def rows(*values: str, partition: int = 0, prefix: str = "a.") -> TopicRows:
    """Rows written `key=value`; without `=` they have no key."""
    keys = [value.partition("=")[0].encode() if "=" in value else b"" for value in values]
    part = PartitionRows([value.encode() for value in values], keys)
    return TopicRows({TopicPartition(f"{prefix}t", partition): part})


PEACE = rows("1=a", "2=b", "3=c", "4=d")


@pytest.mark.parametrize(
    ("found", "numbers"),
    [
        (("1=a", "2=b", "3=c", "4=d"), (0, 0, 0, 0, 0)),
        (("1=a", "2=b", "4=d"), (1, 0, 0, 0, 0)),
        (("1=a", "2=b", "2=b", "3=c", "3=c", "4=d"), (0, 2, 0, 0, 0)),
        (("1=a", "2=b", "3=c", "2=b", "3=c", "4=d"), (0, 2, 0, 0, 0)),
        (("1=a", "2=x", "3=c", "4=d"), (0, 0, 1, 0, 0)),
        (("1=a", "2=b", "9=x", "3=c", "4=d"), (0, 0, 0, 1, 0)),
        (("1=a", "2=b", "2=x", "3=c", "4=d", "y"), (0, 0, 0, 2, 0)),
        (("1=a", "9=x", "3=c", "4=d"), (1, 0, 0, 1, 0)),
        (("1=a", "3=c", "2=b", "4=d"), (0, 0, 0, 0, 1)),
        ((), (4, 0, 0, 0, 0)),
    ],
    ids=["equal", "lost", "twice", "replayed", "changed", "invented", "beside", "another", "reordered", "none"],
)
def test_each_kind_of_difference_is_counted(found, numbers):
    told = compare(PEACE, rows(*found, prefix="b."))
    assert (told.lost, told.duplicate, told.changed, told.invented, told.reordered) == numbers
    assert told.is_exact == (numbers == (0, 0, 0, 0, 0))
    assert (told.expected, told.found) == (4, len(found))


def test_what_was_written_to_the_source_between_the_runs_is_no_defect():
    found = rows("1=a", "2=x", "3=c", "4=d", "5=e", "5=f")
    later = rows("1=a", "2=x", "3=c", "4=d", "5=e", prefix="c.")
    told = compare(PEACE, found, later=later)
    assert (told.lost, told.changed, told.invented) == (0, 0, 1)
    assert compare(PEACE, rows("1=a", "3=c", "4=d"), later=PEACE).lost == 1


def test_rows_that_are_the_same_by_nature_are_no_duplicates():
    assert compare(rows("x", "x", "y"), rows("x", "x", "y")).is_exact
    assert compare(rows("x", "x", "y"), rows("x", "y")).lost == 1
    assert compare(rows("x", "x", "y"), rows("x", "x", "x", "y")).duplicate == 1


def test_a_run_that_was_ended_early_is_judged_as_far_as_it_came():
    assert compare(as_far_as(PEACE, rows("1=a", "2=b")), rows("1=a", "2=b")).is_exact
    assert compare(as_far_as(PEACE, rows("1=a", "3=c")), rows("1=a", "3=c")).lost == 1
    assert compare(as_far_as(PEACE, rows("1=a", "1=a")), rows("1=a", "1=a")).duplicate == 1
    assert compare(as_far_as(PEACE, rows()), rows()).expected == 0


def test_rows_behind_the_end_of_the_baseline_are_not_told_as_invented():
    baseline = rows("1=a", "2=b")
    grown = as_far_as(rows("1=a", "9=x", "2=b", "3=c", "4=d"), baseline)
    assert (compare(baseline, grown).invented, compare(baseline, grown).found) == (1, 3)
