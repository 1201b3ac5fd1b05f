"""Checks what mode=log on a real PostgreSQL says of slots, publications and tables that it cannot follow."""

from __future__ import annotations

import pytest
from jdbc_log import forget, log_run
from jdbc_server import Server

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.jdbc.log.postgres import publication
from connectors.jdbc.log.postgres import reader as pg_reader

pytestmark = pytest.mark.parametrize("server", ["postgres"], indirect=True)


def test_tables_of_which_the_log_tells_nothing_are_left_aside_by_name(server: Server):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)",
        "CREATE UNLOGGED TABLE {t}_fast (id INT PRIMARY KEY)",
        "CREATE TABLE {t}_bare ()",
        "INSERT INTO {t} VALUES (1)",
    )
    names = [server.table + end for end in ("", "_fast", "_bare")]
    planned = server.connector(mode="log", table__whitelist=",".join(names), slot__name=server.table)
    notes = planned.check(Deadline.after(60))
    assert [name for name in names[1:] if any(f".{name} cannot be followed" in note for note in notes)] == names[1:]
    with log_run(server, *names) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2)")
        run.until_events(2)
        told = run.store.explained
    assert told is not None
    assert told.startswith("2 tables are left aside, until the task is restarted; the others go on.")
    assert f"public.{names[1]}: It is UNLOGGED" in told
    assert f"public.{names[2]}: It has no columns." in told
    with pytest.raises(ConfigError, match="UNLOGGED"):
        server.connector(mode="log", table__whitelist=names[1], slot__name=server.table).check(Deadline.after(60))


def test_errors_name_the_setting_and_the_fix(server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "CREATE TABLE {t}_bare (id INT)")
    base = {"mode": "log", "topic__prefix": "p", "slot__name": server.table, "publication__name": server.table}

    def refused(**settings: object) -> str:
        with pytest.raises(ConfigError) as error:
            server.connector(**{**base, **settings}).check(Deadline.after(60))
        return str(error.value)

    assert "REPLICA IDENTITY FULL" in refused(table__whitelist=f"{server.table}_bare")
    assert "publication.autocreate.mode=filtered" in refused(publication__autocreate__mode="disabled")
    role = f"{server.table}_role"
    server.run(f"CREATE ROLE {role} LOGIN PASSWORD 'x'", f"GRANT SELECT ON {{t}} TO {role}")
    told = refused(connection__user=role, connection__password="x")
    assert f'ALTER ROLE "{role}" REPLICATION' in told
    server.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    with log_run(server) as run:
        run.open()
        run.until(lambda: run.batches)
        # A slot that another reads is waited for: it may be this connector's own from before a crash.
        other = server.opened(run.store, **run.settings)
        told = ""
        while not told:
            try:
                other.poll(Deadline.after(1))
            except RetriableError as error:
                told = error.message
        assert "is active for PID" in told
        other.close()
        run.close()
        forget(server)
        run.open()
        with pytest.raises(ConnectError, match=r"Slot .* is gone.*snapshot\.mode=when_needed"):
            run.until(lambda: False)
        run.close()
        run.open(snapshot__mode="when_needed")
        count = len(run.batches)
        run.until(lambda: len(run.batches) > count)


def test_a_table_that_leaves_the_publication_stops_the_task_and_a_renamed_one_is_told(server, monkeypatch, caplog):
    monkeypatch.setattr(pg_reader, "_WATCH_S", 0.1)
    other = f"{server.table}_other"
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", f"CREATE TABLE {other} (id INT PRIMARY KEY)")
    with log_run(server, table__whitelist=None, table__include__list=f"public.{server.table}.*") as run:
        run.open()
        server.run(f"INSERT INTO {other} VALUES (1)")
        run.until_events(1)
        server.run(f"ALTER TABLE {other} RENAME TO new_{other}", f"INSERT INTO new_{other} VALUES (2)")
        run.until(lambda: f"Table public.{other} is gone or has another name" in caplog.text)
        server.run("INSERT INTO {t} VALUES (3)")
        run.until_events(2)
        server.run(f"ALTER PUBLICATION {server.table} DROP TABLE {server.table}", "INSERT INTO {t} VALUES (4)")
        with pytest.raises(ConnectError, match=rf"Publication .* has public\.{server.table} no longer.* reset"):
            run.until(lambda: False)
        run.close()
        server.run("INSERT INTO {t} VALUES (5)")
        run.open()
        run.until(lambda: f'lacked "public"."{server.table}": changes of before now' in caplog.text)
    assert [value["after"]["id"] for _, _, value in run.events] == [1, 3]


def test_what_a_publication_keeps_back_is_told(server, caplog):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, n INT)",
        "CREATE PUBLICATION {t} FOR TABLE {t} WITH (publish = 'insert, delete')",
    )
    with log_run(server, publication__autocreate__mode="disabled") as run:
        run.open()
        run.until(lambda: run.batches)
        assert "keeps back each update: those changes are missing" in caplog.text
        caplog.clear()
        server.run("ALTER PUBLICATION {t} SET (publish = 'insert, update, delete, truncate')")
        run.close()
        run.open()
        run.poll()
        assert "Publication" not in caplog.text
        with server.engine.connect() as connection:
            version = connection.dialect.server_version_info
        if version >= (15,):
            server.run("ALTER PUBLICATION {t} SET TABLE {t} (id) WHERE (id > 100)")
            run.close()
            run.open()
            run.until(lambda: "a list of columns for table" in caplog.text)
            assert "a row filter for table" in caplog.text


def test_a_publication_that_is_dropped_ends_the_task_and_is_told_at_the_next_start(server, monkeypatch, caplog):
    monkeypatch.setattr(pg_reader, "_WATCH_S", 0.1)
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    with log_run(server) as run:
        run.open()
        run.until_events(1)
        assert "made anew" not in caplog.text
        # No change follows, at which a server before version 18 would end the stream by itself.
        server.run("DROP PUBLICATION {t}")
        with pytest.raises(
            ConnectError, match=rf"Publication {server.table} is gone: .* Reset the connector's offsets"
        ):
            run.until(lambda: False)
        run.close()
        run.open()
        run.until(lambda: f"Publication {server.table} was gone, and is made anew: changes of before" in caplog.text)
        server.run("INSERT INTO {t} VALUES (2)")
        run.until_events(2)


def test_a_publication_that_is_dropped_between_two_questions_is_told_as_gone(server, monkeypatch):
    monkeypatch.setattr(pg_reader, "_WATCH_S", 0.1)
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (1)")
    asked = publication._lacking

    def dropped(*given):
        server.run("DROP PUBLICATION IF EXISTS {t}")
        return asked(*given)

    with log_run(server) as run:
        run.open()
        run.until_events(1)
        monkeypatch.setattr(publication, "_lacking", dropped)
        with pytest.raises(ConnectError, match=rf"Publication {server.table} is gone"):
            run.until(lambda: False)
