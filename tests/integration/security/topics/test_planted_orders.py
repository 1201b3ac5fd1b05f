"""Connectors, tasks and offsets that somebody planted in a cluster's own topics run nothing that REST would refuse."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from beside import Beside
from e2e_worker import JSON, wait_for
from hostile_texts import ANSI, HTML
from planted_records import order, plant, told
from victims import TEXT, values

SINK = {"connector.class": "FileStreamSink", "topics": "planted", "tasks.max": "1"}
SOURCE = {"connector.class": "FileStreamSource", "topic": "planted", "tasks.max": "1", "value.converter": TEXT}
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "a class that is a path": ({"connector.class": "/etc/passwd"}, "/etc/passwd"),
    "a class of Python": ({"connector.class": "os.system", "command": "id"}, "os.system"),
    "a class with a colon": ({"connector.class": "subprocess:Popen", "args": "id"}, "subprocess"),
    "a class of nobody": ({"connector.class": f"{ANSI}{HTML}"}, "Kx7-planted"),
    "no class": ({}, "connector.class"),
    "a key without a value": ({**SOURCE, "topic": ""}, "topic"),
    "a converter of Python": ({**SOURCE, "key.converter": "os.system"}, "os.system"),
    "a transform of Python": ({**SOURCE, "transforms": "x", "transforms.x.type": "subprocess.Popen"}, "subprocess"),
    "a function of Python": (
        {**SOURCE, "transforms": "x", "transforms.x.type": "connect.transforms.PythonFunction$Value",
         "transforms.x.function": "os:system"},
        "python.function.modules",
    ),
    "a file that no leave names": ({**SOURCE, "file": "/etc/passwd"}, "allowed.paths"),
    "a file to write": ({**SINK, "file": "/tmp/Kx7-planted"}, "allowed.paths"),
    "a number of tasks that is none": ({**SINK, "tasks.max": "x"}, "tasks.max"),
    "a thousand million tasks": ({**SINK, "tasks.max": "1000000000"}, "Lower tasks.max"),
}  # fmt: skip
"""Configurations that nobody asked REST for, and what their failure has to name."""


def of_topic(beside: Beside, kind: str) -> str:
    return beside.worker.properties[f"{kind}.storage.topic"]


def failure(beside: Beside, name: str) -> str:
    """Return the traces of a connector and its tasks, once one of them has failed."""

    def look() -> str | None:
        status = beside.worker.status(name)
        parts = [status["connector"], *status["tasks"]] if status else []
        return "\n".join(part["trace"] for part in parts if part["state"] == "FAILED") or None

    return str(wait_for(look, 120, f"the failure of {name}, {beside.worker.status(name)}"))


@pytest.fixture
def planted(beside: Beside, unique: str) -> Iterator[str]:
    """The name of a connector that is planted, and taken away at the end."""
    name = f"planted-{unique}"
    yield name
    beside.delete(name)
    wait_for(lambda: beside.worker.status(name) == {}, 120, "the end of the planted connector")


@pytest.mark.parametrize("case", REFUSED)
def test_a_planted_connector_runs_nothing_and_is_named(beside: Beside, planted: str, case: str) -> None:
    config, named = REFUSED[case]
    with beside.unharmed():
        plant(
            beside.bootstrap_servers,
            of_topic(beside, "config"),
            [(f"connector-{planted}".encode(), order({"name": planted, "auto.restart.enabled": "false", **config}))],
        )
        assert named in failure(beside, planted)
    assert not Path("/tmp/Kx7-planted").exists()


NAMES = {"escapes": ANSI, "html": HTML, "a path": "../../etc/passwd", "a zero": "a\0b", "spaces": " \t\n ",
         "nothing": "", "1 MB": "n" * 400_000, "points": ".."}  # fmt: skip


@pytest.mark.parametrize("case", NAMES)
def test_a_planted_name_stops_nothing(beside: Beside, case: str, unique: str) -> None:
    name = f"{NAMES[case]}{unique if case not in ('nothing', 'points') else ''}"
    key = f"connector-{name}".encode()
    config = {**SOURCE, "file": str(beside.folder / "none.txt"), "name": name}
    try:
        with beside.unharmed():
            plant(beside.bootstrap_servers, of_topic(beside, "config"), [(key, order(config))])
            wait_for(lambda: name in listed(beside), 120, "the planted connector")
    finally:
        plant(beside.bootstrap_servers, of_topic(beside, "config"), [(key, None)])
        wait_for(lambda: name not in listed(beside), 120, "the end of the planted connector")


def listed(beside: Beside) -> dict[str, Any]:
    """Return what REST tells of all connectors."""
    answer = requests.get(f"{beside.url}/connectors?expand=status&expand=info", timeout=60)
    assert answer.status_code == 200, answer.text[:500]
    found: dict[str, Any] = answer.json()
    return found


def test_a_planted_task_reads_no_file_that_its_connector_may_not(beside: Beside, planted: str) -> None:
    lines = beside.folder / f"{planted}.txt"
    lines.write_text("first\n")
    config = {**SOURCE, "topic": planted, "file": str(lines), "auto.restart.enabled": "false"}
    assert beside.create(planted, config).status_code == 201
    wait_for(lambda: values(beside.bootstrap_servers, planted) == [b"first"], 120, "the first line")
    other = {**config, "file": "/etc/passwd", "task.class": "subprocess.Popen", "name": planted}
    with beside.unharmed():
        plant(
            beside.bootstrap_servers,
            of_topic(beside, "config"),
            [(f"task-{planted}-0".encode(), order(other)), (f"commit-{planted}".encode(), told({"tasks": 1}))],
        )
        # A host refuses the task, unless the leader has seen its record before the commit and plans the tasks anew.
        wait_for(lambda: is_refused(beside, planted) or is_replaced(beside, lines), 120, "the end of the planted task")
    assert values(beside.bootstrap_servers, planted) == [b"first"]


def is_refused(beside: Beside, name: str) -> bool:
    tasks = beside.worker.status(name)["tasks"]
    return any(task["state"] == "FAILED" and "allowed.paths" in task["trace"] for task in tasks)


def is_replaced(beside: Beside, lines: Path) -> bool:
    """Return True if the config topic has a record of the connector's own file behind the planted one."""
    written = [value or b"" for value in values(beside.bootstrap_servers, of_topic(beside, "config"))]
    planted_at = max(at for at, value in enumerate(written) if b"/etc/passwd" in value)
    return any(str(lines).encode() in value for value in written[planted_at + 1 :])


OFFSETS = {
    "text": {"position": "12"}, "huge text": {"position": "9" * 100_000}, "null": {"position": None},
    "a number below zero": {"position": -5}, "a large number": {"position": (1 << 63) - 1}, "a half": {"position": 0.5},
    "truth": {"position": True}, "html": {"position": HTML}, "nothing": {}, "another": {"x" * 100_000: 1},
}  # fmt: skip


@pytest.mark.parametrize("case", OFFSETS)
def test_a_planted_offset_is_named_or_leaves_the_source_at_work(beside: Beside, planted: str, case: str) -> None:
    lines = beside.folder / f"{planted}.txt"
    lines.write_text("first\n")
    key = json.dumps([planted, {"filename": str(lines)}], separators=(",", ":")).encode()
    plant(beside.bootstrap_servers, of_topic(beside, "offset"), [(key, told(OFFSETS[case]))])
    config = {**SOURCE, "topic": planted, "file": str(lines), "auto.restart.enabled": "false"}
    with beside.unharmed():
        assert beside.create(planted, config).status_code == 201

        def settled() -> str | None:
            status = beside.worker.status(planted)
            if any(task["state"] == "FAILED" for task in status.get("tasks", ())):
                return "\n".join(task["trace"] for task in status["tasks"])
            is_running = any(task["state"] == "RUNNING" for task in status.get("tasks", ()))
            # The file may grow to there; nobody can tell that the place is planted.
            has_read = case == "a large number" or values(beside.bootstrap_servers, planted) == [b"first"]
            return "at work" if is_running and has_read else None

        said = wait_for(settled, 120, f"the end of the start, {beside.worker.status(planted)}")
    assert said == "at work" or "offset" in said


OFFSETS_OF_A_TABLE = {
    "text": {"incrementing": "12; DROP TABLE rows"}, "huge": {"incrementing": 1e300}, "truth": {"incrementing": True},
    "html": {"incrementing": HTML}, "a time long ago": {"timestamp": -(1 << 62), "incrementing": 0},
    "deep": {"incrementing": 0, "tie_key": "[" * 100_000},
}  # fmt: skip


@pytest.mark.parametrize("case", OFFSETS_OF_A_TABLE)
def test_a_planted_offset_of_a_table_is_named_and_read_as_none(beside: Beside, planted: str, case: str) -> None:
    file = beside.folder / f"{planted}.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("create table rows (n integer primary key)")
        database.execute("insert into rows values (1)")
    key = json.dumps([planted, {"protocol": "1", "table": "rows"}], separators=(",", ":")).encode()
    plant(beside.bootstrap_servers, of_topic(beside, "offset"), [(key, told(OFFSETS_OF_A_TABLE[case]))])
    config = {"connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:sqlite:{file}", "mode": "incrementing",
              "incrementing.column.name": "n", "table.whitelist": "rows", "topic.prefix": f"{planted}-",
              "value.converter": JSON, "value.converter.schemas.enable": "false"}  # fmt: skip
    named = beside.worker.log_path.read_text().count("The stored offset of table rows has")
    with beside.unharmed():
        assert beside.create(planted, config).status_code == 201
        wait_for(
            lambda: values(beside.bootstrap_servers, f"{planted}-rows") == [b'{"n":1}'],
            120, f"the row of the table, {beside.worker.status(planted)}",
        )  # fmt: skip
    assert beside.worker.log_path.read_text().count("The stored offset of table rows has") > named
