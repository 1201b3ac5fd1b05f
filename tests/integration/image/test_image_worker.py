"""Runs workers in containers of the slim image: as nobody, on a read-only root, they move rows, stop and fail over."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import requests
from e2e_worker import wait_for
from image_container import DATA
from image_worker import ImageWorker
from oidc_issuer import AUDIENCE, Issuer

pytestmark = pytest.mark.timeout(1800)  # the first one waits for the image
TEXT = "org.apache.kafka.connect.storage.StringConverter"
LIMIT_MB = 400
MOST_START_S = 3.0
_INSTALLED = """
from importlib.metadata import distributions
print(*(f"{one.name}=={one.version}" for one in distributions()))
"""


def lines(first: int, end: int) -> list[str]:
    return [f"line {number}" for number in range(first, end)]


class Moved:
    """A file of the shared folder that goes through a topic into another."""

    def __init__(self, shared: Path, topic: str) -> None:
        self._from, self._into, self._topic = shared / "lines.txt", shared / "moved.txt", topic

    def begin(self, worker: ImageWorker) -> None:
        texts = {"key.converter": TEXT, "value.converter": TEXT, "tasks.max": "1"}
        source = {"connector.class": "FileStreamSource", "file": f"{DATA}/lines.txt", "topic": self._topic, **texts}
        sink = {"connector.class": "FileStreamSink", "file": f"{DATA}/moved.txt", "topics": self._topic, **texts}
        for name, config in (("source", source), ("sink", sink)):
            answer = worker.create(name, config)
            assert answer.status_code == 201, answer.text

    def append(self, more: list[str]) -> None:
        with self._from.open("a") as file:
            file.writelines(f"{line}\n" for line in more)

    def await_all(self, expected: list[str]) -> None:
        """Each line once at least, in order."""

        def arrived() -> bool:
            return self._into.exists() and list(dict.fromkeys(self._into.read_text().splitlines())) == expected

        wait_for(arrived, 120, f"{len(expected)} lines in {self._into}")


def test_a_worker_moves_rows_as_nobody_and_ends_by_sigterm(slim, start, tmp_path, unique):
    worker = start(slim)
    moved = Moved(tmp_path / "data", unique)
    moved.append(lines(0, 1000))
    moved.begin(worker)
    moved.await_all(lines(0, 1000))

    container = worker.container
    assert container.run(["id", "-u"]).stdout == "65534\n"
    written = container.run(["touch", "/opt/connect/new", "/tmp/new"])
    assert written.stderr.count("Read-only file system") == 2
    assert worker.is_healthy_by_the_image()
    assert container.run(["connect", "status"]).returncode == 0

    container.send_signal(signal.SIGTERM)
    assert container.wait(60) == 0
    assert "Traceback" not in worker.log_path.read_text()


def test_rest_answers_within_three_seconds_of_the_start(slim, start, record_property):
    """CPU is counted, as a machine that does other things besides takes longer."""
    worker = start(slim)
    record_property("start_s", worker.start_s)
    record_property("start_cpu_s", worker.start_cpu_s)
    assert 0 < worker.start_cpu_s < MOST_START_S


def test_another_worker_goes_on_where_one_was_killed(slim, start, tmp_path, unique):
    workers = [start(slim), start(slim)]
    moved = Moved(tmp_path / "data", unique)
    moved.append(lines(0, 500))
    moved.begin(workers[0])
    moved.await_all(lines(0, 500))

    (task,) = workers[0].wait_for_tasks("source", "RUNNING")["tasks"]
    (killed,) = (worker for worker in workers if worker.url.endswith(task["worker_id"]))
    (left,) = (worker for worker in workers if worker is not killed)
    killed.kill()
    assert not killed.is_healthy_by_the_image()
    moved.append(lines(500, 1000))
    moved.await_all(lines(0, 1000))
    assert left.is_healthy_by_the_image()


def test_the_image_finds_a_worker_healthy_that_asks_for_logins(slim, start, tmp_path):
    issuer = Issuer(tmp_path)
    issuer.start()
    try:
        (tmp_path / "data/users.properties").write_text("ada=love:lace\n")
        worker = start(slim, **{
            "rest.basic.auth.file": f"{DATA}/users.properties", "rest.oidc.issuer": issuer.url,
            "rest.oidc.audience": AUDIENCE, "rest.roles.viewer": "ada, oidc:bob",
        })  # fmt: skip
        assert worker.is_healthy_by_the_image()
        ready = requests.get(f"{worker.url}/health/ready", timeout=60)
        assert ready.json() == {"status": "ready", "message": "Worker is ready. Whoever logs in is told more."}
        path = f"{worker.url}/connectors"
        assert requests.get(path, timeout=60).status_code == 401
        assert requests.get(path, auth=("ada", "love:lace"), timeout=60).json() == []
        bearer = {"Authorization": f"Bearer {issuer.token('bob')}"}
        assert requests.get(path, headers=bearer, timeout=60).json() == []
    finally:
        issuer.stop()


def test_the_slim_image_is_small(slim):
    assert slim.size_bytes() / 1e6 < LIMIT_MB


def test_the_image_lists_each_package_in_it(slim):
    listed = json.loads((slim.root / "opt/connect/sbom.cdx.json").read_text())
    assert listed["bomFormat"] == "CycloneDX"
    installed = slim.run("/opt/connect/bin/python", "-I", "-c", _INSTALLED).split()
    assert len(installed) > 20
    assert sorted(f"{one['name']}=={one['version']}" for one in listed["components"]) == sorted(installed)
