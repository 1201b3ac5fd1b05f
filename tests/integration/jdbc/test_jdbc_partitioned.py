"""Partitioned tables, and the kinds of tables that are listed, on a real PostgreSQL."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import Server

from connect.api.errors import ConfigError, ConnectError
from connect.lib.deadline import Deadline
from connectors.jdbc.log.postgres import publication
from connectors.jdbc.log.postgres import reader as pg_reader
from connectors.jdbc.log.postgres.snapshot import TableSnapshot

pytestmark = pytest.mark.parametrize("server", ["postgres"], indirect=True)


@pytest.fixture
def partitioned(server: Server) -> Server:
    """Two rows in two partitions, the second one of which has a partition of its own."""
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, name TEXT) PARTITION BY RANGE (id)",
        "CREATE TABLE {t}_low PARTITION OF {t} FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE {t}_high PARTITION OF {t} FOR VALUES FROM (10) TO (99) PARTITION BY RANGE (id)",
        "CREATE TABLE {t}_high_a PARTITION OF {t}_high FOR VALUES FROM (10) TO (50)",
        "INSERT INTO {t} VALUES (1, 'a'), (11, 'b')",
    )
    return server


@pytest.mark.parametrize(
    ("types", "names", "topics"),
    [
        ("TABLE", "{t}.*", ["{t}_high_a", "{t}_low"]),
        ("TABLE", "{t}", ["{t}"]),
        ("table,partitioned table", "{t}.*", ["{t}"]),
    ],
)
def test_each_row_of_a_partitioned_table_is_read_once(partitioned, types, names, topics):
    pattern = "public\\." + names.format(t=partitioned.table)
    task = partitioned.opened(
        OffsetStore(), mode="bulk", poll__interval__ms=600_000, table__whitelist=None, table__include__list=pattern,
        table__types=types,
    )  # fmt: skip
    read = batches(task, OffsetStore())
    task.close()
    assert sorted(batch.topic for batch in read) == [f"db-{name.format(t=partitioned.table)}" for name in topics]
    assert sorted(row["id"] for row in rows(read)) == [1, 11]


def test_the_log_of_a_partitioned_table_is_that_of_the_whole(partitioned):
    pattern = f"public\\.{partitioned.table}.*"
    with log_run(partitioned, table__whitelist=None, table__include__list=pattern) as run:
        run.open()
        run.until_events(2)
        partitioned.run("INSERT INTO {t} VALUES (2, 'c'), (12, 'd')", "UPDATE {t} SET name = 'z' WHERE id = 11")
        run.until_events(5)
    assert {topic for topic, _, _ in run.events} == {run.topic()}
    assert [(value["op"], value["after"]["id"]) for _, _, value in run.events] == [
        ("r", 1), ("r", 11), ("c", 2), ("c", 12), ("u", 11),
    ]  # fmt: skip


def test_a_partitioned_table_that_is_rewritten_after_the_snapshot_began_is_read_in_a_later_one(
    partitioned, monkeypatch
):
    hold, held = TableSnapshot.hold, []

    def rewritten(snapshot, name):
        if not held:
            partitioned.run("ALTER TABLE {t} ALTER COLUMN name TYPE text USING name || '!'")
        held.append(name)
        hold(snapshot, name)

    monkeypatch.setattr(TableSnapshot, "hold", rewritten)
    with log_run(partitioned) as run:
        run.open()
        run.until_events(2)
    assert [(value["op"], value["after"]["name"]) for _, _, value in run.events] == [("r", "a!"), ("r", "b!")]


def test_partitions_are_followed_where_the_publication_names_them(partitioned):
    # Debezium makes it so, and tells changes by the partitions' names where its filter takes these.
    partitioned.run("CREATE PUBLICATION {t} FOR ALL TABLES")
    name = partitioned.table
    topics = [f"{name}_low", f"{name}_high_a"]
    with log_run(partitioned, *topics, table__whitelist=None, table__include__list=f"public\\.{name}.*") as run:
        run.open()
        run.until_events(2)
        partitioned.run("INSERT INTO {t} VALUES (2, 'c'), (12, 'd')")
        run.until_events(4)
    assert [(topic.rpartition(name)[2], value["op"], value["after"]["id"]) for topic, _, value in sorted(
        run.events, key=lambda event: event[2]["after"]["id"])] == [
        ("_low", "r", 1), ("_low", "c", 2), ("_high_a", "r", 11), ("_high_a", "c", 12),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["all_tables", "filtered"])
def test_partitions_that_are_named_alone_are_followed_by_a_publication_that_is_made(partitioned, mode):
    name = partitioned.table
    names = {"table__whitelist": None, "table__include__list": f"public\\.{name}_(low|high_a)"}
    topics = [f"{name}_low", f"{name}_high_a"]
    with log_run(partitioned, *topics, publication__autocreate__mode=mode, **names) as run:
        run.open()
        run.until_events(2)
        partitioned.run("INSERT INTO {t} VALUES (2, 'c'), (12, 'd')")
        run.until_events(4)
        with partitioned.engine.connect() as session:
            by_root = session.exec_driver_sql(
                f"SELECT pubviaroot FROM pg_publication WHERE pubname = '{name}'"
            ).scalar()
        assert by_root == (mode == "filtered"), "a filter that takes the partitioned table, too, goes on with it"
    found = sorted((topic.rpartition(name)[2], value["op"], value["after"]["id"]) for topic, _, value in run.events)
    assert found == [("_high_a", "c", 12), ("_high_a", "r", 11), ("_low", "c", 2), ("_low", "r", 1)]


def test_a_partition_that_is_detached_does_not_stop_the_others(partitioned, monkeypatch, caplog):
    monkeypatch.setattr(pg_reader, "_WATCH_S", 0.1)
    name = partitioned.table
    partitioned.run("CREATE PUBLICATION {t} FOR TABLE {t}")
    topics = [f"{name}_low", f"{name}_high_a"]
    names = {"table__whitelist": None, "table__include__list": f"public\\.{name}.*"}
    with log_run(partitioned, *topics, publication__autocreate__mode="disabled", **names) as run:
        run.open()
        run.until_events(2)
        partitioned.run("ALTER TABLE {t} DETACH PARTITION {t}_low")
        told = f"Table public.{name}_low is no partition any more"
        run.until(lambda: told in caplog.text and told in str(run.store.explained))
        partitioned.run("INSERT INTO {t} VALUES (12, 'd')")
        run.until_events(3)
        assert run.events[-1][2]["after"]["id"] == 12
        # A partition that goes on as one, and that nobody tells of any more, has to be seen to.
        partitioned.run("CREATE TABLE {t}_other (id INT)", "ALTER PUBLICATION {t} SET TABLE {t}_other")
        with pytest.raises(ConnectError, match=rf"has public\.{name}_high_a no longer"):
            run.until(lambda: False)


def test_the_tables_of_a_publication_are_listed_once_for_all_partitions(partitioned):
    more = [f"CREATE TABLE {{t}}_{n} PARTITION OF {{t}} FOR VALUES FROM ({n}) TO ({n + 1})" for n in range(100, 160)]
    partitioned.run(*more, "CREATE PUBLICATION {t} FOR ALL TABLES WITH (publish_via_partition_root = true)", "ANALYZE")
    asked = sa.text(f"EXPLAIN (ANALYZE, FORMAT JSON) {publication._PARTS}").bindparams(name=partitioned.table)
    with partitioned.engine.connect() as connection:
        connection.exec_driver_sql("SET enable_hashjoin = off; SET enable_mergejoin = off")
        (plan,) = connection.execute(asked).scalar()
    listed = [
        node["Actual Loops"]
        for node in _nodes(plan["Plan"])
        if "pg_get_publication_tables" in str(node.get("Function Name"))
    ]
    assert listed == [1]


def _nodes(plan):
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def test_a_table_that_the_publication_names_otherwise_does_not_stop_the_others(partitioned):
    name = partitioned.table
    partitioned.run("CREATE TABLE {t}x (id INT PRIMARY KEY)", "CREATE PUBLICATION {t} FOR ALL TABLES")
    names = {"table__whitelist": f"{name},{name}x"}
    notes = partitioned.connector(mode="log", slot__name=name, publication__name=name, **names).check(
        Deadline.after(60)
    )
    told = f"tells changes of public.{name} by the name of the partitions: none would come."
    assert any(told in note and "left aside" in note for note in notes or ()), notes
    with log_run(partitioned, f"{name}x", **names) as run:
        run.open()
        run.until(lambda: run.batches)
        partitioned.run("INSERT INTO {t}x VALUES (1)", "INSERT INTO {t} VALUES (2, 'c')")
        run.until_events(1)
        assert told in (run.store.explained or "")
    assert {topic for topic, _, _ in run.events} == {run.topic(f"{name}x")}


def test_a_publication_that_names_others_than_the_tables_is_refused(partitioned, monkeypatch):
    monkeypatch.setattr(pg_reader, "_WATCH_S", 0.1)
    name = partitioned.table
    fix = rf'ALTER PUBLICATION "{name}" SET \(publish_via_partition_root = true\)'
    told = rf"tells changes of public\.{name} by the name of the partitions: none would come.*{fix}"
    # An administrator's publication, and Debezium's, names the partitions by default.
    partitioned.run("CREATE PUBLICATION {t} FOR TABLE {t}")
    for mode in ("filtered", "disabled"):
        with pytest.raises(ConfigError, match=told), log_run(partitioned, publication__autocreate__mode=mode) as run:
            run.open()
        partitioned.run("CREATE PUBLICATION {t} FOR ALL TABLES")
    partitioned.run("ALTER PUBLICATION {t} SET (publish_via_partition_root = true)")
    with log_run(partitioned) as run:
        run.open()
        run.until_events(2)
        partitioned.run("INSERT INTO {t} VALUES (2, 'c')")
        run.until_events(3)
        partitioned.run("ALTER PUBLICATION {t} SET (publish_via_partition_root = false)")
        with pytest.raises(ConnectError, match=told):
            run.until(lambda: False)
    partitioned.run("CREATE PUBLICATION {t} FOR TABLE {t}, {t}_low WITH (publish_via_partition_root = true)")
    told = rf"tells changes of public\.{name}_low by the name of the partitioned table"
    with pytest.raises(ConfigError, match=told), log_run(partitioned, f"{name}_low") as run:
        run.open()


def test_what_is_no_table_is_read_when_its_kind_is_named(server):
    server.run(
        "CREATE TABLE {t}_base (id INT PRIMARY KEY)",
        "INSERT INTO {t}_base VALUES (7)",
        "CREATE MATERIALIZED VIEW {t} AS SELECT id FROM {t}_base",
    )
    settings = {"mode": "bulk", "poll__interval__ms": 600_000}
    with pytest.raises(ConfigError, match=rf"No table matches {server.table} of table.whitelist"):
        server.opened(OffsetStore(), **settings)
    task = server.opened(OffsetStore(), **settings, table__types="TABLE,MATERIALIZED VIEW,SYNONYM")
    assert rows(batches(task, OffsetStore())) == [{"id": 7}]
    task.close()
    with pytest.raises(ConfigError, match=r"table\.types=SYNONYM"):
        server.connector(**settings, table__types="SYNONYM").check(Deadline.after(60))
