"""The ring is cut without gaps, shared without overlaps, and gone on with at a stored place."""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID

import pytest

from connect.api.errors import ConnectError
from connectors.cassandra.cql_types import CqlType
from connectors.cassandra.splits import GREATEST_TOKEN, LEAST_TOKEN, Progress, cut, progress_of, share_of
from connectors.cassandra.statements import select_range
from connectors.cassandra.tables import Table, TableColumn

TABLE = Table(
    UUID(int=1),
    "ks",
    'Odd "Table"',
    [TableColumn("a", CqlType("int")), TableColumn("B", CqlType("int"))],
    [TableColumn("c", CqlType("int"))],
    [TableColumn("s", CqlType("int"))],
    [TableColumn("r", CqlType("int"))],
)


@pytest.mark.parametrize("count", [1, 2, 7, 60, 1000])
def test_every_token_is_in_exactly_one_split(count: int) -> None:
    splits = cut(TABLE, count)
    assert len(splits) == count
    assert splits[0].after == LEAST_TOKEN
    assert splits[-1].upto == GREATEST_TOKEN
    assert all(one.upto == other.after for one, other in pairwise(splits))
    sizes = {split.upto - split.after for split in splits}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("shares", [1, 2, 3, 7])
def test_every_split_is_in_exactly_one_share(shares: int) -> None:
    splits = cut(TABLE, 7)
    shared = [split for share in range(shares) for split in share_of(splits, share, shares)]
    assert sorted(splits, key=lambda s: s.after) == sorted(shared, key=lambda s: s.after)


def test_a_position_is_read_back_and_one_that_is_none_is_refused() -> None:
    split = cut(TABLE, 4)[1]
    for progress in (Progress(split.after), Progress(split.after + 5), Progress(split.upto, finished=True)):
        assert progress_of(split, split.position(progress).offset) == progress
    assert progress_of(split, None) == Progress(split.after)
    for wrong in ({}, {"token": "1"}, {"token": True}, {"token": split.after - 1}, {"token": split.upto + 1}):
        with pytest.raises(ConnectError, match=r"ks\.Odd \"Table\" has the token .* Reset the connector's offsets"):
            progress_of(split, wrong)


def test_names_are_quoted_and_ranges_bound() -> None:
    assert select_range(TABLE) == (
        'SELECT token("a", "B"), "a", "B", "c", "s", "r" FROM "ks"."Odd ""Table""" '
        'WHERE token("a", "B") > ? AND token("a", "B") <= ?'
    )
