"""Checks how a first read is cut into ranges, and the ranges are shared out."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connectors.jdbc.follow import handover, offsets
from connectors.jdbc.follow.first_read import LEAST_KEYS, FirstRead, NotSplit, bounds
from connectors.jdbc.follow.handover import Handover, ReaderContext
from connectors.jdbc.follow.reading import Connections
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, TablePart, parts_from_text, parts_to_text, share_out

ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", 'it"ems#1/2,')
MARK = offsets.timestamp_incrementing(1_700_000_000_000_000, -1)


@pytest.mark.parametrize(("least", "most"), [(1, 10**6), (-(2**63), 2**63 - 1), (-5, 39_995)])
def test_ranges_are_alike_and_leave_no_key_out(least: int, most: int):
    cuts = bounds(least, most, 4)
    widths = [high - low for low, high in pairwise((least, *cuts, most + 1))]
    assert len(widths) == 4
    assert max(widths) - min(widths) <= 1


def test_few_keys_are_not_cut():
    assert len(bounds(0, 3 * LEAST_KEYS - 1, 8)) == 2
    with pytest.raises(NotSplit, match="its keys span 5"):
        bounds(1, 5, 8)


@pytest.mark.parametrize("tasks", range(1, 12))
@pytest.mark.parametrize("parallelism", [2, 3, 8])
def test_each_range_has_one_task_however_many_there_are(tasks: int, parallelism: int):
    shares = share_out([ORDERS, ITEMS], tasks, parallelism)
    assert 1 <= len(shares) <= tasks
    assert [table for own, _ in shares for table in own] == [ORDERS, ITEMS]
    for table in (ORDERS, ITEMS):
        parts = [part for _, parts in shares for part in parts if part.table == table]
        assert sorted(number for part in parts for number in range(9)[part.number :: part.of]) == list(range(9))
        owner = next(own for own, held in shares if TablePart(table, 0, parts[0].of) in held)
        assert table in owner
    assert all(parts for _, parts in shares)


def test_without_parallelism_tables_are_shared_out_as_ever():
    assert share_out([ORDERS, ITEMS], 5, 1) == [([ORDERS], ()), ([ITEMS], ())]


def test_parts_survive_their_way_through_a_task_config():
    parts = [TablePart(ORDERS, 2, 3), TablePart(ITEMS, 0, 1), TablePart(TableName(None, "t.x"), 11, 12)]
    assert parts_from_text(parts_to_text(parts)) == parts
    assert parts_from_text("") == []


def test_a_first_read_survives_its_way_through_an_offset():
    first = FirstRead(MARK, (10, 20))
    assert FirstRead.of(first.offset) == first
    assert list(first.ranges) == [0, 1, 2]
    assert FirstRead.of(MARK) is FirstRead.of(None) is None
    assert offsets.id_of(first.offset) is offsets.instant_us_of(first.offset) is None


def test_what_was_read_of_another_first_read_counts_for_nothing():
    other = offsets.timestamp_incrementing(1_800_000_000_000_000, -1)
    progress, finished = offsets.range_progress(MARK, (7,)), offsets.range_finished(MARK)
    assert offsets.range_progress_of(progress, MARK) == (7,)
    assert offsets.range_progress_of(progress, other) is None
    assert offsets.range_progress_of(finished, MARK) is None
    assert offsets.is_range_finished(finished, dict(reversed(MARK.items())))
    assert not offsets.is_range_finished(finished, other)
    assert not offsets.is_range_finished(progress, MARK)


@pytest.mark.parametrize(
    "settings",
    [{"mode": "bulk"}, {"offset.mode": "confluent"}, {"query.suffix": "LIMIT 1"}],
)
def test_ranges_are_refused_where_nothing_is_followed_safely(settings: dict[str, str]):
    given = {"connection.url": "jdbc:sqlite:a", "table.whitelist": "t", "topic.prefix": "p-"}
    given |= {"mode": "incrementing", "incrementing.column.name": "id", "initial.read.parallelism": "2"}
    JdbcSourceConfig.parse({**given, **EVERYWHERE})
    with pytest.raises(ConfigError, match=r"initial\.read\.parallelism is for tables"):
        JdbcSourceConfig.parse({**EVERYWHERE, **given, **settings})


def test_the_search_for_the_mark_goes_on_where_the_last_look_ended(monkeypatch: pytest.MonkeyPatch):
    class Search:
        """Has waited long enough at the third look."""

        def __init__(self, *_: Any) -> None:
            self.looks = 0

        def look(self, _: Any) -> None:
            self.looks += 1
            if self.looks == 3:
                raise NotSplit("it is empty")

    monkeypatch.setattr(handover, "FirstReadSearch", Search)
    followed: Any = SimpleNamespace(label="orders", read=lambda: "followed")
    database: Any = SimpleNamespace(end_transaction=lambda: None, close=lambda: None)
    config: Any = SimpleNamespace(initial_read_parallelism=2)
    reader = Handover(
        followed, TablePart(ORDERS), ReaderContext(config, Connections(lambda: database), lambda _: None, 1.0, print)
    )
    assert [reader.read() for _ in range(4)] == [None, None, None, "followed"]
