"""Sends alerts of real workers to a receiver that is away at first, then slow, answers 500, redirects, and takes
them.
"""

import hashlib
import hmac
import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from cluster_worker import eventually
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

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
    assert {request["status"] for request in receiver.requests()} == {200, 302, 500}
    assert {request["path"] for request in receiver.requests()} == {receiver.path}, "no other address hears of it"

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


def test_a_frozen_leader_that_goes_on_does_not_tell_what_its_successor_has_told(start_worker, receiver, tmp_path):
    workers = [start_worker(**receiver.keys).ready(), start_worker(**receiver.keys).ready()]
    presence = tmp_path / "presence"
    fail(workers[0], "a", presence)
    eventually(lambda: sum(counted(worker, "failed") for worker in workers))  # nobody is there
    frozen, other = sorted(workers, key=lambda worker: counted(worker, "failed"), reverse=True)
    tree = [psutil.Process(frozen.process.pid), *psutil.Process(frozen.process.pid).children(recursive=True)]
    for process in tree:
        process.send_signal(signal.SIGSTOP)
    receiver.start()
    told_of_a, told_of_b = (("task_failed", "firing", name, 0) for name in "ab")
    eventually(lambda: receiver.told() == [told_of_a])
    for process in tree:
        if process.is_running():
            process.send_signal(signal.SIGCONT)
    eventually(lambda: frozen.call("GET", "/health").status_code == 200)
    fail(other, "b", presence)
    eventually(lambda: told_of_b in receiver.told())
    assert receiver.told() == [told_of_a, told_of_b], "whoever of them leads now"


class Taking(BaseHTTPRequestHandler):
    """Takes whatever a sink sends."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def served(port):
    """The target of a sink, while it is there."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Taking)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def test_a_sink_that_stands_still_and_its_lag_are_told_to_slack_once_each_whoever_leads(
    start_worker, receiver, kafka, unique
):
    brokers, (port,) = {"bootstrap.servers": kafka.bootstrap_servers}, free_ports(1)
    admin = AdminClient(brokers)
    admin.create_topics([NewTopic(unique, 1)])[unique].result(60)
    producer = Producer({**brokers, "transactional.id": unique})
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(150):
        producer.produce(unique, str(number))
    producer.commit_transaction(60)
    keys = {**receiver.keys, "alerts.webhook.format": "slack", "alerts.lag.records": 100, "alerts.stalled.ms": 3000}
    workers = [start_worker(**keys) for _ in range(2)]
    for worker in workers:
        worker.ready()
    sink = {
        "connector.class": "io.confluent.connect.http.HttpSinkConnector",
        "topic": "",
        "topics": unique,
        "http.api.url": f"http://127.0.0.1:{port}/rows",
    }
    workers[0].create("c", **FAILS, **sink)
    eventually(lambda: sum(counted(worker, "failed") for worker in workers) >= 2)  # nobody is there
    receiver.start()

    def texts():
        return sorted(one["text"].split(" (cluster ")[0] for one in receiver.taken())

    firing = ["[firing] lag: Connector c", "[firing] stalled: Task 0 of connector c"]
    eventually(lambda: texts() == firing)
    told = {one["text"].split(":")[0]: one["text"] for one in receiver.taken()}
    assert "rows are not committed, more than alerts.lag.records=100." in told["[firing] lag"]
    assert "It waits for the sink." in told["[firing] stalled"]
    assert "/ui/connector?name=c|Open>" in told["[firing] lag"]
    eventually(lambda: sum(counted(worker, "sent") for worker in workers) == 2)
    leader, other = sorted(workers, key=lambda worker: counted(worker, "sent"), reverse=True)
    leader.process.kill()
    eventually(lambda: other.states("c") == ("RUNNING", ["RUNNING"]))
    eventually(lambda: "waiting_for" in other.get("/connectors/c/status")["tasks"][0])
    with served(port):
        healed = ["[resolved] lag: Connector c", "[resolved] stalled: Task 0 of connector c"]
        eventually(lambda: texts() == firing + healed)
    assert counted(other, "dropped") == 0
