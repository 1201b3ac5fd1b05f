"""Checks rows that come again after a crash, beside rows that only look like them: none is lost, none that is there is
bad.
"""

from __future__ import annotations

import pytest
from jdbc_server import Server
from jdbc_sink_target import batch, made, opened, put, rows

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.testing.fakes import FakeSinkContext

pytestmark = pytest.mark.integration
SERIAL = {"postgres": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY"}


def test_records_that_are_alike_are_each_a_row_where_no_key_of_theirs_refuses_them(server: Server):
    server.run(f"CREATE TABLE {{t}} (n {SERIAL[server.name]}, id BIGINT, v BIGINT CHECK (v <> 13))")
    with opened(server) as task:
        assert put(task, batch(server, [(1, 1), (2, None)])) == {}
    with opened(server) as task:  # as after a clean restart, with a bad row among the first ones
        assert put(task, batch(server, [(1, 1), (3, 13), (2, None), (4, 4)], 2)).keys() == {1}
    assert rows(server, "id, coalesce(v, -1)") == [(1, 1), (1, 1), (2, -1), (2, -1), (4, 4)]


def test_records_that_are_alike_are_each_a_row_where_their_unique_key_is_null(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT NOT NULL, v BIGINT UNIQUE)")
    with opened(server) as task:
        assert put(task, batch(server, [(1, None), (2, 7)])) == {}
    with opened(server) as task:
        assert put(task, batch(server, [(1, None), (2, 7), (3, 7)], 1)).keys() == {2}
    assert rows(server, "id, coalesce(v, -1)") == [(1, -1), (1, -1), (2, 7)]


def test_rows_that_are_there_are_not_bad_where_another_unique_key_of_theirs_is_null(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT UNIQUE)")
    given = [(1, None), (2, 7), (3, None), (4, 9)]
    for _ in range(2):
        with opened(server) as task:
            assert put(task, batch(server, given)) == {}
    assert rows(server, "id, coalesce(v, -1)") == [(1, -1), (2, 7), (3, -1), (4, 9)]


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_an_index_of_some_rows_or_of_an_expression_is_no_key_of_the_others(server: Server):
    server.run(
        "CREATE TABLE {t} (id BIGINT, v BIGINT)",
        "CREATE UNIQUE INDEX ON {t} (id) WHERE v > 100", "CREATE UNIQUE INDEX ON {t} (id, (v / (v - 5)))",
    )  # fmt: skip
    with opened(server) as task:
        assert put(task, batch(server, [(1, None)])) == {}
    with opened(server) as task:
        assert put(task, batch(server, [(1, None), (2, 5)], 1)).keys() == {1}
    assert rows(server, "id, coalesce(v, -1)") == [(1, -1), (1, -1)]


def test_a_task_that_lost_its_partition_gives_up_no_row_that_the_next_owner_has_written(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT)")
    ctx, given = FakeSinkContext(), batch(server, [(2, 2), (3, 3)], 2)
    frozen = made(server, ctx)
    for first in (0, 1):  # its rows are new by now
        assert put(frozen, batch(server, [(first, first)], first)) == {}
    with opened(server) as owner:
        assert put(owner, given) == {}
    ctx.lost.add(TopicPartition(server.table, 0))
    with pytest.raises(RetriableError, match="another task's"):
        put(frozen, given)
    frozen.close()
    assert rows(server) == [(n, n) for n in range(4)]


FUNCTION = """CREATE FUNCTION raise_{t}() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN IF new.v = 13 THEN RAISE EXCEPTION ''no 13 here''; END IF; RETURN new; END'"""
TRIGGER = "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON {t} FOR EACH ROW EXECUTE FUNCTION raise_{t}()"
SIGNAL = """CREATE TRIGGER raise_{t} BEFORE INSERT ON {t} FOR EACH ROW
IF new.v = 13 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no 13 here'; END IF"""
RAISES = {"postgres": (FUNCTION, TRIGGER), "mariadb": (SIGNAL,)}


@pytest.mark.parametrize("settings", [{}, {"insert__mode": "upsert", "pk__mode": "record_key"}], ids=["i", "u"])
def test_a_row_that_a_trigger_refuses_is_rejected_alone(server: Server, settings: dict[str, str]):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT)", *RAISES[server.name])
    with opened(server, **settings) as task:
        bad = put(task, batch(server, [(1, 1), (2, 13), (3, 3)]))
        assert (bad.keys(), "no 13 here" in bad.get(1, "")) == ({1}, True)
    assert rows(server) == [(1, 1), (3, 3)]


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_a_row_that_a_trigger_refuses_at_commit_is_rejected_alone(server: Server):
    server.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, v BIGINT)", FUNCTION,
        "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON {t} DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION raise_{t}()",
    )  # fmt: skip
    with opened(server) as task:
        assert put(task, batch(server, [(n, 13 if n == 77 else -n) for n in range(100, 0, -1)])).keys() == {23}
    assert len(rows(server)) == 99


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_an_exclusion_constraint_that_is_looked_at_late(server: Server):
    server.run(
        "CREATE TABLE {t} (id BIGINT, v BIGINT, "
        "EXCLUDE USING gist (int8range(id, v) WITH &&) DEFERRABLE INITIALLY DEFERRED)"
    )
    with opened(server) as task:
        assert put(task, batch(server, [(1, 5), (5, 9), (3, 6), (9, 12)])).keys() == {2}
    assert rows(server) == [(1, 5), (5, 9), (9, 12)]


@pytest.mark.parametrize("option", ["", "WITH CHECK OPTION"])
def test_a_row_that_its_view_refuses_is_rejected_alone(server: Server, option: str):
    server.run(
        "CREATE TABLE {t}_base (id BIGINT PRIMARY KEY, v BIGINT)",
        f"CREATE VIEW {{t}} AS SELECT id, v FROM {{t}}_base WHERE v < 10 {option}",
    )
    with opened(server, table__types="TABLE,VIEW") as task:
        assert put(task, batch(server, [(1, 1), (2, 13), (3, 3)])).keys() == ({1} if option else set())
    assert rows(server) == [(1, 1), (3, 3)]
