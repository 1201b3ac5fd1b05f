"""Checks that rows come which were committed long before they appear: by a partition that is attached, or a table that
takes the name of another one. Their transactions are behind the last pass then.
"""

from __future__ import annotations

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server
from jdbc_stress import MODES

from connectors.jdbc.source.task import JdbcSourceTask

pytestmark = pytest.mark.parametrize("server", ["postgres"], indirect=True)
EACH_MODE = pytest.mark.parametrize("mode", MODES)
COLUMNS = "id INT NOT NULL, ts TIMESTAMPTZ(6) NOT NULL"
INSERT = "INSERT INTO {{t}}{0} VALUES ({1}, clock_timestamp())"


class Follower:
    """A task that reads table {t} of a server, and its offsets."""

    def __init__(self, server: Server, mode: str) -> None:
        self._server = server
        self._mode = mode
        self._store = OffsetStore()
        self._task = self._opened()

    def _opened(self) -> JdbcSourceTask:
        kinds = "TABLE,PARTITIONED TABLE"
        return self._server.opened(self._store, **MODES[self._mode], table__types=kinds, batch__max__rows=2)

    def restart(self) -> None:
        self._task.close()
        self._task = self._opened()

    def ids(self) -> list[int]:
        return [row["id"] for row in rows(batches(self._task, self._store))]

    def close(self) -> None:
        self._task.close()


@EACH_MODE
@pytest.mark.parametrize("is_restarted", [False, True])
def test_rows_of_a_partition_come_that_is_attached_after_its_rows_were_committed(server: Server, mode, is_restarted):
    server.run(
        f"CREATE TABLE {{t}} ({COLUMNS}, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
        "CREATE TABLE {t}_low PARTITION OF {t} FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE {t}_more (LIKE {t} INCLUDING ALL) PARTITION BY RANGE (id)",
        "CREATE TABLE {t}_high PARTITION OF {t}_more FOR VALUES FROM (10) TO (99)",
        INSERT.format("", 1),
    )
    follower = Follower(server, mode)
    assert follower.ids() == [1]
    server.run(INSERT.format("", 2))
    server.run(*(INSERT.format("_more", i) for i in (11, 12, 13)))
    assert follower.ids() == [2], "this pass sees the transaction of the others"
    if is_restarted:
        follower.restart()
    server.run("ALTER TABLE {t} ATTACH PARTITION {t}_more FOR VALUES FROM (10) TO (99)")
    assert follower.ids() == [11, 12, 13]
    server.run(INSERT.format("", 14), INSERT.format("", 3))
    assert 14 in follower.ids()
    follower.restart()
    assert follower.ids() == [], "each of them came once"
    follower.close()


@EACH_MODE
def test_rows_of_a_table_come_that_inherits_from_the_followed_one_since(server: Server, mode):
    server.run(f"CREATE TABLE {{t}} ({COLUMNS}, PRIMARY KEY (id))", f"CREATE TABLE {{t}}_child ({COLUMNS})")
    follower = Follower(server, mode)
    server.run(INSERT.format("", 1))
    assert follower.ids() == [1]
    server.run(INSERT.format("_child", 2))
    assert follower.ids() == []
    server.run("ALTER TABLE {t}_child INHERIT {t}")
    assert follower.ids() == [2]
    assert follower.ids() == []
    follower.close()


@EACH_MODE
@pytest.mark.parametrize("is_restarted", [False, True])
def test_rows_of_a_table_come_that_takes_the_name_of_the_followed_one(server: Server, mode, is_restarted):
    server.run(f"CREATE TABLE {{t}} ({COLUMNS}, PRIMARY KEY (id))", INSERT.format("", 1))
    follower = Follower(server, mode)
    assert follower.ids() == [1]
    server.run(INSERT.format("", 2))
    server.run("CREATE TABLE {t}_new AS SELECT * FROM {t}", *(INSERT.format("_new", i) for i in (3, 4, 5)))
    server.run("ALTER TABLE {t}_new ALTER id SET NOT NULL, ALTER ts SET NOT NULL, ADD PRIMARY KEY (id)")
    assert follower.ids() == [2], "this pass sees the transactions of the others"
    if is_restarted:
        follower.restart()
    server.run("ALTER TABLE {t} RENAME TO {t}_old", "ALTER TABLE {t}_new RENAME TO {t}")
    read = follower.ids()
    assert [i for i in read if i > 2] == [3, 4, 5]
    assert set(read) <= {1, 2, 3, 4, 5}, "the mark may be before the last row that was read"
    follower.restart()
    assert follower.ids() == []
    follower.close()
