"""Looks for traces of another team's connectors in what a user with roles at some connectors can read.

The pages, lists and answers about one connector are asked for with the names of both teams and of a connector that does
not exist. All names and rows of the other team have a word in them that must never come.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

WORD = "zebra"
"""Part of every name, row, secret and address of the other team."""
PASSWORD = "long-password-of-all-9"
MINE, THEIRS, NOBODYS = "mine-sink", f"{WORD}-sink", f"{WORD}-nothere"
PAGES = (
    "/ui", "/ui/live/overview", "/ui/flow", "/ui/live/flow", "/ui/doctor", "/ui/plugins", "/ui/edit", "/ui/backfills",
    "/ui/reports", "/ui/connector", "/ui/connector/trace", "/ui/live/connector", "/ui/offsets", "/ui/letters",
    "/ui/sample", "/ui/history", "/metrics", "/flow", "/doctor", "/backfills", "/connectors",
    "/connectors?expand=status&expand=info",
)  # fmt: skip
OF_ONE = ("", "/config", "/status", "/why", "/history", "/offsets", "/topics", "/tasks", "/tasks/0/status", "/sample")


@pytest.fixture(scope="module")
def worker(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("teams")
    users = folder / "users.properties"
    users.write_text("".join(f"{user}={PASSWORD}\n" for user in ("root", "viewer", "operator", "editor")))
    roles = {f"rest.roles.{role}": f"{role} on mine-*" for role in ("viewer", "operator", "editor")}
    worker = WorkerProcess(
        folder, kafka.bootstrap_servers, f"teams{time.time_ns()}",
        **{"rest.basic.auth.file": str(users), "rest.roles.admin": "root"}, **roles,
    )  # fmt: skip
    worker.start()
    try:
        _two_teams(worker, folder)
        yield worker
    finally:
        worker.stop()


def _two_teams(worker: WorkerProcess, folder: Path) -> None:
    root = _session("root")
    rows, other_rows = folder / "rows.txt", folder / f"{WORD}-rows.txt"
    rows.write_text("a row\n")
    other_rows.write_text(f"{WORD} row\n")
    stamp = time.time_ns()
    mine, theirs = f"mine-topic-{stamp}", f"{WORD}-topic-{stamp}"
    source = {"connector.class": "FileStreamSource"}
    sink = {"connector.class": "FileStreamSink", "consumer.override.auto.offset.reset": "earliest"}
    letters = {
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{WORD}-letters-{stamp}",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    fails = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    for name, config in {
        "mine-source": {**source, "file": str(rows), "topic": mine},
        f"{WORD}-source": {**source, "file": str(other_rows), "topic": theirs},
        MINE: {**sink, "file": str(folder / "out.txt"), "topics": mine},
        THEIRS: {
            **sink,
            "file": str(folder / f"{WORD}-out.txt"),
            "topics": theirs,
            **fails,
            "transforms.t.spec": "int8",
        },
        # It reads my topic, too: my flow shows the topic, and not who else reads it.
        f"{WORD}-both": {**sink, "file": str(folder / f"{WORD}-2.txt"), "topics": f"{mine},{theirs}", **letters},
    }.items():
        answer = root.put(f"{worker.url}/connectors/{name}/config", json=config, timeout=60)
        assert answer.status_code == 201, answer.text

    def failed() -> bool:
        status = root.get(f"{worker.url}/connectors/{THEIRS}/status", timeout=60).json()
        return any(task["state"] == "FAILED" for task in status.get("tasks", ()))

    wait_for(failed, 60, f"{THEIRS} failed for its row")


def _session(user: str) -> requests.Session:
    session = requests.Session()
    session.auth = (user, PASSWORD)
    session.headers["Accept"] = "text/html,text/event-stream,*/*"
    return session


def _read(session: requests.Session, url: str) -> tuple[int, str]:
    """Return status and text; of a live page the first events."""
    with session.get(url, timeout=60, stream=True) as answer:
        if "event-stream" not in answer.headers.get("Content-Type", ""):
            return answer.status_code, answer.text
        text, end_s = "", time.monotonic() + 5
        for chunk in answer.iter_content(None):
            text += chunk.decode(errors="replace")
            if text.count("\n\n") > 1 or time.monotonic() > end_s:
                break
        return answer.status_code, text


def _paths() -> list[str]:
    plain = [path for path in PAGES if not re.search(r"connector(/trace)?$|offsets|letters|sample|history|edit", path)]
    of_one = [path for path in PAGES if path not in plain] + ["/ui/edit"]
    asked = [f"{path}?name={name}" for path, name in itertools.product(of_one, (MINE, "mine-source", THEIRS, NOBODYS))]
    rest = [
        f"/connectors/{name}{path}" for path, name in itertools.product(OF_ONE, (MINE, "mine-source", THEIRS, NOBODYS))
    ]
    return [*plain, *dict.fromkeys(asked), *rest]


@pytest.mark.parametrize("user", ["viewer", "operator", "editor"])
def test_nobody_reads_a_word_of_another_teams_connectors(worker: WorkerProcess, user: str) -> None:
    session, told = _session(user), []
    for path in _paths():
        status, text = _read(session, worker.url + path)
        # An answer may repeat what was asked for, and nothing else.
        found = set(re.findall(rf"[\w.-]*{WORD}[\w.-]*", text)) - set(re.findall(r"[\w.-]+", path))
        if found:
            told.append((path, status, sorted(found)[:5]))
        assert status < 500, (path, text[:300])
    assert told == []


def test_the_words_are_there_for_who_may_read_them(worker: WorkerProcess) -> None:
    """The walk above would find nothing on empty pages."""
    session = _session("root")
    silent = [
        path for path in ("/ui", "/ui/flow", "/flow", "/metrics", "/connectors", "/doctor", "/ui/doctor")
        if WORD not in _read(session, worker.url + path)[1]
    ]  # fmt: skip
    assert silent == []


@pytest.mark.parametrize("user", ["viewer", "operator", "editor"])
def test_what_is_there_and_what_is_not_are_refused_alike(worker: WorkerProcess, user: str) -> None:
    session = _session(user)

    def refusal(path: str, name: str) -> tuple[int, str]:
        status, text = _read(session, worker.url + path.format(name))
        return status, re.sub(r"[\w-]{40,}", "", text.replace(name, "NAME"))

    paths = [f"/connectors/{{}}{path}" for path in OF_ONE] + [
        f"{path}?name={{}}" for path in ("/ui/connector", "/ui/history", "/ui/offsets")
    ]
    assert {path: refusal(path, THEIRS) for path in paths} == {path: refusal(path, NOBODYS) for path in paths}
    assert {refusal(path, THEIRS)[0] for path in paths} == {403}
