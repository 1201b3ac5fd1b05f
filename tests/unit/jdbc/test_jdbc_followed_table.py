"""Checks that a table is planned anew without a page being lost or given twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow.followed_table import FollowedTable, StoredOffset
from connectors.jdbc.follow.read_plan import table_plan
from connectors.jdbc.follow.reading import Connections, ReadingPlan
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRows


class Followed:
    """Follows table t of a SQLite file by its ids, two rows a page. Looks with a number in `failing` fail."""

    def __init__(
        self, path: Path, look_s: float, mode: str = "incrementing", failing: frozenset[int] = frozenset()
    ) -> None:
        self.path = path
        self.looks = 0
        self._failing = failing
        self._config = JdbcTaskConfig.parse(
            {
                "connection.url": f"jdbc:sqlite:{path}", "topic.prefix": "db-", "mode": mode, "table.whitelist": "t",
                "incrementing.column.name": "id", "batch.max.rows": "2", "poll.interval.ms": "0", "tables": '"t"',
                "key.mode": "primary_key", **EVERYWHERE,
            }
        )  # fmt: skip
        self.connections = Connections(lambda: Database(self._config))
        self.bad: list[BadRows] = []
        self.table = FollowedTable(
            "t", self._plan, self.connections, lambda _partition: None, look_s, reject=self.bad.append
        )

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def ids(self) -> list[int]:
        """Return the ids of the next page."""
        batch = self.table.read()
        return [] if batch is None else [row["id"] for row in batch.values.rows()]

    def _plan(self, database: Database, stored: StoredOffset) -> ReadingPlan:
        self.looks += 1
        if self.looks in self._failing:
            raise RetriableError("no connection is left")
        return table_plan(database, TableName(None, "t"), self._config, stored)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


def test_a_page_is_not_given_again_where_the_table_got_a_column_since(path):
    followed = Followed(path, look_s=0)
    followed.run("CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    assert followed.ids() == [1, 2]
    followed.run("ALTER TABLE t ADD COLUMN name TEXT", "INSERT INTO t VALUES (3, 'c')")
    assert followed.ids() == [3]
    followed.connections.close()


def test_a_table_that_got_another_key_is_read_by_that_key(path):
    followed = Followed(path, 0, "bulk")
    columns = "id INTEGER NOT NULL, region INTEGER NOT NULL"
    followed.run(f"CREATE TABLE t ({columns}, PRIMARY KEY (id, region))", "INSERT INTO t VALUES (1, 5), (2, 4)")
    assert followed.ids() == [1, 2]
    # The columns are as before. An order by the former key would not tell rows of one id apart.
    followed.run("DROP TABLE t", f"CREATE TABLE t ({columns}, PRIMARY KEY (region, id))")
    followed.run("INSERT INTO t VALUES (1, 5), (2, 4)")
    batch = followed.table.read()
    assert batch is not None
    assert batch.keys is not None
    assert batch.keys.rows() == [{"region": 4, "id": 2}, {"region": 5, "id": 1}]
    followed.connections.close()


def test_a_pass_that_was_left_begins_anew_where_the_table_got_another_key(path):
    followed = Followed(path, 0, "bulk")
    columns, rows = "id INTEGER NOT NULL, region INTEGER NOT NULL", "INSERT INTO t VALUES (8, 1), (9, 2), (10, 3)"
    followed.run(f"CREATE TABLE t ({columns}, PRIMARY KEY (id, region))", rows)
    assert followed.ids() == [8, 9]
    followed.table.leave()
    # Behind the place (9, 2) of the former key is no row in the order of the present one.
    followed.run("DROP TABLE t", f"CREATE TABLE t ({columns}, PRIMARY KEY (region, id))", rows)
    assert followed.ids() + followed.ids() == [8, 9, 10]
    followed.connections.close()


@pytest.mark.parametrize("failing", [(2,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("mode", ["incrementing", "bulk"])
def test_a_page_with_a_bad_row_is_not_lost_where_the_table_cannot_be_looked_at_now(path, mode, failing):
    followed = Followed(path, 3600, mode, frozenset(failing))
    values = ", ".join(f"({i}, {i if i != 3 else repr('three')})" for i in range(1, 7))
    followed.run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", f"INSERT INTO t VALUES {values}")
    read: list[int] = []
    for _ in range(8):
        if 6 not in read:  # afterwards mode=bulk would read the table again
            with suppress(RetriableError):
                read += followed.ids()
    assert read == [1, 2, 4, 5, 6]
    assert [row["id"] for bad in followed.bad for row in bad.batch.values.rows()] == ["3"]
    followed.connections.close()
