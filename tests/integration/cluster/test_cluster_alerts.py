"""Alerts of real workers at a receiver that is away at first, then slow, then answers 500, then takes them."""

import hashlib
import hmac
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster_worker import eventually

from connect.tools.services.process.ports import free_ports

SECRET = "0123456789abcdef-of-alerts"
FAILS = {"tasks.max": "1"}


class Receiver:
    """The address that workers are given, and the process behind it once it is started."""

    def __init__(self, folder: Path) -> None:
        self._port = free_ports(1)[0]
        self._log = folder / "alerts.jsonl"
        self._process: subprocess.Popen[bytes] | None = None
        self.path = "/services/T0/b1-token-of-the-channel"
        self.keys = {
            "alerts.webhook.url": f"http://127.0.0.1:{self._port}{self.path}",
            "alerts.webhook.secret": SECRET,
            "auto.restart.enabled": "false",
        }

    def start(self) -> None:
        script = Path(__file__).with_name("alert_receiver.py")
        self._process = subprocess.Popen([sys.executable, str(script), str(self._port), str(self._log)])

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def requests(self) -> list[dict]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []

    def taken(self) -> list[dict]:
        return [json.loads(request["body"]) for request in self.requests() if request["status"] == 200]

    def told(self) -> list[tuple[str, str, str, int | None]]:
        return [(one["event"], one["state"], one["connector"], one["task"]) for one in self.taken()]


@pytest.fixture
def receiver(tmp_path):
    found = Receiver(tmp_path)
    yield found
    found.stop()


def counted(worker, count):
    line = f"kafka_connect_alerts_{count}_total "
    return sum(
        float(text.split()[-1])
        for text in worker.call("GET", "/metrics").text.splitlines()
        if text[: len(line)] == line
    )


def fail(worker, name, presence):
    """Make a connector whose task cannot write into a folder that is not there."""
    worker.create(name, **FAILS, presence=str(presence))
    eventually(lambda: worker.states(name) == ("RUNNING", ["FAILED"]))


def test_a_failed_task_and_its_healing_are_told_once_each_to_a_receiver_that_comes_late(
    start_worker, receiver, tmp_path
):
    worker = start_worker(**receiver.keys).ready()
    presence = tmp_path / "presence"
    fail(worker, "c", presence)
    eventually(lambda: counted(worker, "failed") >= 2)  # nobody is there
    receiver.start()
    firing = ("task_failed", "firing", "c", 0)
    eventually(lambda: receiver.told() == [firing])
    presence.mkdir()
    assert worker.call("POST", "/connectors/c/tasks/0/restart").status_code == 204
    eventually(lambda: receiver.told() == [firing, ("task_failed", "resolved", "c", 0)])
    assert {request["status"] for request in receiver.requests()} == {200, 500}

    failed, healed = receiver.taken()
    assert failed["reason"].startswith("FAILED: ")
    assert "presence" in failed["reason"]
    assert healed["reason"].startswith("RUNNING")
    assert failed["since"] == healed["since"]
    assert failed["url"] == f"{worker.url}/ui/connector?name=c"
    assert worker.call("GET", "/ui/connector?name=c").status_code == 200
    for request in receiver.requests():
        headers, body = {name.lower(): text for name, text in request["headers"].items()}, request["body"].encode()
        stamp = headers["x-connect-timestamp"]
        assert abs(time.time() - int(stamp)) < 600
        proof = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert headers["x-connect-signature"] == f"sha256={proof}"
    assert counted(worker, "sent") == 2
    assert counted(worker, "dropped") == 0
    assert receiver.path not in worker.log.read_text()
    assert SECRET not in worker.log.read_text()


def test_no_alert_is_lost_when_the_leader_is_killed_and_none_that_was_taken_comes_again(
    start_worker, receiver, tmp_path
):
    first, second = start_worker(**receiver.keys), start_worker(**receiver.keys)
    workers = first.ready(), second.ready()
    receiver.start()
    presence = tmp_path / "presence"
    fail(first, "a", presence)
    told_of_a = ("task_failed", "firing", "a", 0)
    eventually(lambda: receiver.told() == [told_of_a])
    eventually(lambda: [counted(worker, "sent") for worker in workers].count(1) == 1)
    leader, other = sorted(workers, key=lambda worker: counted(worker, "sent"), reverse=True)
    receiver.stop()
    failed = counted(leader, "failed")
    fail(leader, "b", presence)
    eventually(lambda: counted(leader, "failed") > failed)  # it waits for the receiver in the leader alone
    leader.process.kill()
    eventually(lambda: other.states("b") == ("RUNNING", ["FAILED"]) == other.states("a"))
    receiver.start()
    told_of_b = ("task_failed", "firing", "b", 0)
    eventually(lambda: receiver.told() == [told_of_a, told_of_b])
    presence.mkdir()
    for name in ("a", "b"):
        assert other.call("POST", f"/connectors/{name}/tasks/0/restart").status_code == 204
    eventually(lambda: len(receiver.told()) == 4)
    healed = {("task_failed", "resolved", "a", 0), ("task_failed", "resolved", "b", 0)}
    assert set(receiver.told()[2:]) == healed
