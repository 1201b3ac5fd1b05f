"""`connect poc` ended in the middle, and on what cannot be reached: nothing is left, no secret is shown."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.poc.sandbox.left_behind import left_targets
from connect.poc.sink.trial import Trial
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.tools.services.process.polling import poll_until

LIMIT_S = 180.0
JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for everything, also for what an evaluation notes for the next one."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path


@pytest.fixture
def poc(place):
    """Starts the command on a configuration; what was started is ended."""
    running = []

    def start(config, *options):
        file = place / "connector.json"
        file.write_text(json.dumps({"name": "c", "config": config}))
        argv = [sys.executable, "-m", "connect.cli", "poc", str(file), "--out", str(place / "report.html"), *options]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def wait_until(holds, what):
    poll_until(holds, deadline_s=LIMIT_S, waiting_for=what, fix="Look at the test.")


def left_processes(place):
    folder = str(place / "tmp")
    running = psutil.process_iter(["cmdline"])
    return [process for process in running if any(folder in part for part in process.info["cmdline"] or ())]


def sink(place):
    return {"connector.class": "FileStreamSink", "file": str(place / "out.txt"), "topics": "t"}


def rows_are_written(place):
    return any(path.stat().st_size for path in place.glob("out.txt.*") if path.exists())


def everything_but_the_report(place):
    return sorted(path.name for path in place.iterdir() if path.name != "report.html")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.chaos)])
def test_an_evaluation_that_is_ended_removes_what_it_made(poc, place, number):
    running = poc(sink(place))
    wait_until(lambda: rows_are_written(place), "rows in a target apart")
    running.send_signal(number)
    printed, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 3, printed
    assert "Traceback" not in printed
    wait_until(lambda: not left_processes(place), "an end of all processes")
    assert everything_but_the_report(place) == ["connector.json", "state", "tmp"]
    assert list((place / "tmp").iterdir()) == []
    assert list((place / "state").rglob("*.json")) == []


def test_what_a_killed_evaluation_left_is_removed_by_the_next_one(poc, place):
    running = poc(sink(place))
    wait_until(lambda: rows_are_written(place), "rows in a target apart")
    running.kill()
    running.communicate()
    wait_until(lambda: not left_processes(place), "an end of all processes")
    wait_until(lambda: not list((place / "tmp").iterdir()), "an end of temporary folders")
    (kept,) = place.glob("out.txt.*")
    worker = {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON, **EVERYWHERE,
    }  # fmt: skip
    other = ConnectorSettings(worker, {**sink(place), "name": "c", "file": str(place / "other.txt")})
    assert Trial.remove_left(other) == 0, "of another target"
    mine = ConnectorSettings(worker, {**sink(place), "name": "c"})
    assert Trial.remove_left(mine) == 1
    assert not kept.exists()
    assert list(left_targets(mine.connector)) == []


def test_a_database_that_cannot_be_reached_is_said_to_and_its_password_is_not(poc, place):
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "mode": "incrementing", "topic.prefix": "p",
        "connection.url": "jdbc:postgresql://127.0.0.1:1/shop", "connection.user": "me",
        "connection.password": "hunter-2222", "table.whitelist": "orders",
    }  # fmt: skip
    running = poc(config, "--json", str(place / "result.json"))
    printed, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 2, printed
    texts = [printed, *(Path(place / name).read_text() for name in ("report.html", "result.json"))]
    assert all("hunter" not in text for text in texts)
    assert all("127.0.0.1" in text for text in texts)
