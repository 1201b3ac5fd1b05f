"""Checks what `check` and `task_configs` say about real SQLite files: every broken key, with its fix, and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from jdbc_drive import OffsetStore, connector, opened, run_sql

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError
from connect.lib.deadline import Deadline


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "check.db"
    run_sql(
        path,
        "CREATE TABLE good (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL, name TEXT)",
        "CREATE TABLE loose (id INTEGER, ts TIMESTAMP, data BLOB)",
        "CREATE TABLE wordy (id TEXT PRIMARY KEY NOT NULL, ts TEXT NOT NULL)",
    )
    return path


def problems(path: Path, **settings: object) -> dict[str, str]:
    with pytest.raises(ConfigError) as error:
        connector(path, **settings).check(Deadline.after(0.5))
    found: dict[str, str] = {}
    for problem in error.value.problems:
        found[problem.key] = f"{found.get(problem.key, '')}{problem.message}\n"
    return found


@pytest.mark.parametrize("mode", ["bulk", "incrementing", "timestamp", "timestamp+incrementing"])
def test_a_good_configuration_has_no_problem(file, mode):
    settings = {"timestamp__column__name": "ts"} if "timestamp" in mode else {}
    connector(file, mode=mode, table__whitelist="good", **settings).check(Deadline.after(60))
    assert len(connector(file, mode=mode, table__whitelist="good", **settings).task_configs(3)) == 1


def test_a_missing_file_is_not_created(tmp_path):
    path = tmp_path / "none.db"
    found = problems(path, mode="bulk", table__whitelist="t", connection__attempts=1)
    assert "unable to open database file" in found["connection.url"]
    assert str(path) in found["connection.url"]
    assert not path.exists()


def test_the_wait_between_attempts_ends_with_the_deadline(tmp_path):
    assert "connection.url" in problems(tmp_path / "none.db", mode="bulk", table__whitelist="t")


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"mode": "bulk", "table__whitelist": "gone"}, "table.whitelist", "gone"),
        ({"mode": "bulk", "table__include__list": "nothing.*"}, "table.include.list", "nothing"),
        ({"mode": "bulk", "table__whitelist": "good", "table__types": "SYNONYM"}, "table.types", "SYNONYM"),
        (
            {"mode": "incrementing", "table__whitelist": "good", "incrementing__column__name": "nr"},
            "incrementing.column.name",
            "nr",
        ),
        (
            {"mode": "incrementing", "table__whitelist": "loose", "incrementing__column__name": "id"},
            "incrementing.column.name",
            "validate.non.null",
        ),
        ({"mode": "incrementing", "table__whitelist": "loose"}, "incrementing.column.name", "auto-increment"),
        (
            {"mode": "incrementing", "table__whitelist": "wordy", "incrementing__column__name": "id"},
            "incrementing.column.name",
            "whole numbers",
        ),
        (
            {"mode": "timestamp", "table__whitelist": "good", "timestamp__column__name": "at"},
            "timestamp.column.name",
            "at",
        ),
        (
            {"mode": "timestamp", "table__whitelist": "loose", "timestamp__column__name": "ts"},
            "timestamp.column.name",
            "NULL",
        ),
        (
            {"mode": "timestamp", "table__whitelist": "loose", "timestamp__column__name": "data"},
            "timestamp.column.name",
            "bytes",
        ),
        (
            {"mode": "incrementing", "table__include__list": "good", "incrementing__column__mapping": "bad:id"},
            "incrementing.column.mapping",
            "exactly one",
        ),
        ({"mode": "bulk", "query": "SELECT * FROM gone"}, "query", "gone"),
        (
            {"mode": "incrementing", "query": "SELECT name FROM good", "incrementing__column__name": "id"},
            "incrementing.column.name",
            "id",
        ),
    ],
)
def test_each_broken_key_is_named_with_the_facts(file, settings, key, words):
    assert words in problems(file, **settings)[key]


def test_a_misspelt_table_is_told_with_the_database_asked_and_the_table_meant(file):
    assert problems(file, mode="bulk", table__whitelist="goods,lose") == {
        "table.whitelist": f"No table matches goods, lose of table.whitelist in SQLite database {file}. Is good meant? "
        "Is loose meant? Create it, or take it out of table.whitelist.\n"
    }


def test_all_problems_come_at_once(file):
    found = problems(
        file,
        mode="timestamp+incrementing",
        table__whitelist="good",
        timestamp__column__name="at",
        incrementing__column__name="nr",
    )
    assert set(found) == {"timestamp.column.name", "incrementing.column.name"}


def test_a_table_that_is_not_there_yet_does_not_keep_others_from_being_read(file):
    both = connector(file, mode="bulk", table__whitelist="good,gone")
    (note,) = both.check(Deadline.after(60))
    assert note.startswith("No table matches gone of table.whitelist in ")
    (note,) = connector(file, mode="bulk", table__whitelist="good,goods").check(Deadline.after(60))
    assert "meant?" not in note, "what is read already is not the table meant"
    assert [config["tables"] for config in both.task_configs(2)] == ['"good"']
    run_sql(file, "CREATE TABLE gone (id INTEGER PRIMARY KEY)")
    assert [config["tables"] for config in both.task_configs(2)] == ['"gone"', '"good"']


def test_a_table_that_comes_later_with_the_topic_of_another_is_not_read_into_it(file):
    both = connector(file, mode="bulk", table__include__list="good,go.d")
    assert [config["tables"] for config in both.task_configs(2)] == ['"good"']
    run_sql(file, 'CREATE TABLE "go d" (id INTEGER PRIMARY KEY)', 'CREATE TABLE "go_d" (id INTEGER PRIMARY KEY)')
    with pytest.raises(ConfigError, match="Several tables would share the topic db-go_d: go d, go_d"):
        both.task_configs(2)
    run_sql(file, 'DROP TABLE "go d"')
    assert [config["tables"] for config in both.task_configs(1)] == ['"go_d","good"']


def test_a_nullable_cursor_is_accepted_on_request(file):
    settings = {"table__whitelist": "loose", "incrementing__column__name": "id", "validate__non__null": "false"}
    connector(file, mode="incrementing", **settings).check(Deadline.after(60))
    assert len(connector(file, mode="incrementing", **settings).task_configs(1)) == 1


def test_a_masked_query_is_not_repeated(file):
    found = problems(file, mode="bulk", query__masked="SELECT 'canary-4711' FROM gone")
    assert "canary-4711" not in str(found)


def test_a_password_is_in_no_message(tmp_path):
    for url in ("postgresql://u:canary-4711@127.0.0.1:1/x", "jdbc:postgresql://127.0.0.1:1/x?password=canary-4711"):
        with pytest.raises(ConfigError) as error:
            connector(tmp_path, mode="bulk", table__whitelist="t", connection__url=url, connection__attempts=1).check(
                Deadline.after(60)
            )
        assert "canary-4711" not in str(error.value) + repr(error.value.problems) + repr(error.value.__cause__)


def test_tables_are_shared_out_over_tasks(file):
    shared = connector(file, mode="bulk", table__include__list=".*").task_configs(2)
    assert [config["tables"] for config in shared] == ['"good"', '"loose","wordy"']


def test_a_query_is_one_task(file):
    assert len(connector(file, mode="bulk", query="SELECT 1 AS one").task_configs(5)) == 1


def test_without_a_table_there_is_one_task_and_it_says_so(file):
    planned = connector(file, mode="bulk", table__whitelist="gone")
    (config,) = planned.task_configs(3)
    task = planned.task({**config, **EVERYWHERE})
    with pytest.raises(ConnectError, match="No table"):
        task.open(OffsetStore())
    task.close()


def test_a_table_that_went_away_is_an_error_at_open(file):
    planned = connector(file, mode="bulk", table__whitelist="good")
    (config,) = planned.task_configs(1)
    run_sql(file, "DROP TABLE good")
    task = planned.task({**config, **EVERYWHERE})
    with pytest.raises(ConnectError, match="good does not exist"):
        task.open(OffsetStore())
    task.close()


def test_no_thread_is_left_after_close(file):
    import threading

    before = threading.active_count()
    task = opened(file, OffsetStore(), mode="bulk", table__whitelist="good")
    task.close()
    for thread in threading.enumerate():
        if thread.name.startswith("jdbc-read"):
            thread.join(5)
    assert threading.active_count() == before
