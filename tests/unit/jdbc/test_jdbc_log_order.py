"""Breaks off a first read of PostgreSQL's tables again and again while a table's order changes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from connectors.jdbc.log.postgres.reader import PostgresLog
from connectors.jdbc.log.shared.position import LogPosition, SnapshotPlace
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility
from connectors.jdbc.settings.table_choice import TableName

TABLE = TableName("public", "orders")


class BrokenOffError(Exception):
    pass


class Snapshot:
    """A server that goes away before the first row; `after`: behind which keys it was asked for rows."""

    def __init__(self):
        self.after = []

    def begin(self, exported):
        return SnapshotVisibility("9:9:", 20_000), 0

    def hold(self, name):
        pass

    def rows(self, table, after, page_rows, *, select):
        self.after.append(after)
        raise BrokenOffError
        yield


def test_a_key_of_the_order_before_is_never_taken_for_one_of_the_new_order():
    database = SimpleNamespace(driver_arguments={}, errors=None)
    session = SimpleNamespace(
        config=SimpleNamespace(max_batch_size=10, topic_prefix="p", snapshot_mode="initial"),
        database=database, stopping=None, tables=[TABLE], page_rows=10, begin_table=lambda caution: None,
    )  # fmt: skip
    log = PostgresLog(session, lambda _: None)
    log._snapshot = snapshot = Snapshot()
    first = Fence(("id",), (Segment(None),))
    log.position = LogPosition(1, snapshot=SnapshotPlace((), TABLE.full, ("30",)), fences={TABLE.full: first})
    ordered_anew = SimpleNamespace(events=SimpleNamespace(key=("code",)))
    tables = SimpleNamespace(describe=lambda name: name, plan=lambda relation: ordered_anew)
    for _ in range(3):
        with pytest.raises(BrokenOffError):
            list(log._tables(tables, None, None))
    assert snapshot.after == [(), (), ()], "all rows come again, as the table has another order"
