"""A first read of PostgreSQL's log that was broken off goes on with the table that it had begun."""

from __future__ import annotations

from connectors.jdbc.log.shared.position import SnapshotPlace
from connectors.jdbc.settings.table_choice import TableName

A, B, C = (TableName("public", name) for name in "abc")


def test_the_begun_table_comes_before_one_that_was_made_meanwhile() -> None:
    begun = SnapshotPlace(done=(C.full,), table=B.full, key=("7",))
    assert begun.tables_left([A, B, C]) == [B, A]


def test_tables_keep_their_order_where_none_is_begun() -> None:
    assert SnapshotPlace().tables_left([B, A, C]) == [B, A, C]
