"""Where Debezium stored its place in a transaction, the rows that it delivered are left out, and no others."""

from __future__ import annotations

from connectors.jdbc.log.binlog.position import Skipped
from connectors.jdbc.log.mysql.partial_transaction import HalfRead


def _seen(skipped: Skipped, starts: int, events: int) -> list[tuple[bool, int]]:
    """Return of each event behind those that begin the transaction if it is left out, and how many of its rows are."""
    half = HalfRead(skipped)
    for _ in range(starts):
        half.begin()
        half.count()
    found = []
    for _ in range(events):
        found.append((half.has_whole_event, half.rows_of_event))
        half.count()
    return found


def test_events_count_from_the_last_one_that_begins_the_transaction():
    # Behind the beginning: the table's map, its rows, and the same again.
    of_one_start = [(True, 0), (True, 0), (True, 0), (False, 5), (False, 0)]
    assert _seen(Skipped(4, 5), 1, 5) == of_one_start
    assert _seen(Skipped(4, 5), 2, 5) == of_one_start


def test_nothing_is_left_out_of_whole_transactions():
    assert _seen(Skipped(), 1, 3) == [(False, 0)] * 3
    half = HalfRead(Skipped(2, 1))
    assert not half.has_whole_event
