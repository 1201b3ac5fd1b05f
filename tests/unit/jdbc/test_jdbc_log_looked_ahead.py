"""What a history reads ahead in the log counts for a table up to where its catalog was asked, and is read once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog.position import Place
from connectors.jdbc.log.mysql import history
from connectors.jdbc.log.mysql.history import MySqlHistory
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

A, B = TableName("shop", "a"), TableName("shop", "b")
ALTERED = [(Place("f", 22), frozenset({A})), (Place("f", 35), frozenset({B}))]


def at(pos: int) -> Place:
    return Place("f", pos)


class Looking(MySqlHistory):
    """Has the log's ends, and tells what it reads of the log."""

    def __init__(self, ends: list[int]) -> None:
        config = JdbcSourceConfig.parse({
            "connection.url": "jdbc:mysql://h/shop", "mode": "log", "topic.prefix": "shop", "table.whitelist": "a",
        })  # fmt: skip
        super().__init__(Database(config), lambda _: True, threading.Event())
        self.ends = ends
        self.read: list[tuple[int, int]] = []
        self.asked: list[TableName] = []

    def _end(self) -> Place:
        return at(self.ends.pop(0))

    def _statements(self, begin: Place, end: Place) -> Iterator[tuple[Place, frozenset[TableName]]]:
        self.read.append((begin.pos, end.pos))
        return (one for one in ALTERED if begin.order < one[0].order <= end.order)


def test_statements_count_up_to_where_the_catalog_of_the_table_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    looking = Looking([20, 30, 40])
    monkeypatch.setattr(history, "catalog_table", lambda _, table: looking.asked.append(table))
    assert not looking._looked_ahead(A, at(10)).names(A, at(10))
    assert not looking._looked_ahead(B, at(12)).names(B, at(12))
    assert not looking._looked_ahead(A, at(12)).names(A, at(12)), "the catalog told of the table before it was altered"
    assert looking.asked == [A, B]
    ahead = looking._looked_ahead(A, at(21))
    assert (looking.asked, ahead.names(A, at(21)), ahead.names(A, at(25))) == ([A, B, A], True, False)
    assert not ahead.names(B, at(21)), "the table was altered behind the place up to which its catalog counts"
    assert looking.read == [(10, 20), (20, 30), (30, 40)]


def test_the_log_is_read_anew_from_a_place_that_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    looking = Looking([20, 60, 60])
    monkeypatch.setattr(history, "catalog_table", lambda _, table: looking.asked.append(table))
    looking._looked_ahead(A, at(10))
    looking._looked_ahead(A, at(50))
    looking._looked_ahead(A, at(10))
    assert looking.read == [(10, 20), (50, 60), (10, 60)]
