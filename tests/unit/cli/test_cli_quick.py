"""Commands answer at once, and say what is missing: time, extras, a broker that is away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

DEAD = """bootstrap.servers=127.0.0.1:1
group.id=g
config.storage.topic=c
offset.storage.topic=o
status.storage.topic=s
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
"""


def answers_in(limit_s: float, *argv: str) -> bool:
    """Whether one of five runs takes so little CPU time: what a person waits for on a machine that is idle."""
    return any(_cpu_s(*argv) < limit_s for _ in range(5))


def _cpu_s(*argv: str) -> float:
    process = subprocess.Popen([sys.executable, "-m", "connect.cli", *argv], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_utime + usage.ru_stime


@pytest.fixture
def cluster():
    """The address of what answers as a cluster with three connectors."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = {"name": "a", "connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": []}
            body = json.dumps({name: {"info": {"config": {}}, "status": status} for name in "abc"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_the_help_answers_in_half_a_second():
    assert answers_in(0.5, "--help")


def test_the_list_of_connectors_answers_in_seven_tenths_of_a_second(cluster):
    assert answers_in(0.7, "connectors", "list", "--url", cluster)


@pytest.mark.thorough
def test_a_broker_that_is_away_is_told_in_seconds(tmp_path):
    file = tmp_path / "worker.properties"
    file.write_text(DEAD)
    argv = [sys.executable, "-m", "connect.cli", "dlq", "list", "some-dlq", "--worker", str(file)]
    began_s = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert time.monotonic() - began_s < 20
    assert done.returncode == 1
    assert "asking for the cluster id" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "module", "extra"), [("demo", "sqlalchemy", "demo"), ("poc", "psutil", "poc")])
def test_a_command_without_its_extra_names_it(tmp_path, command, module, extra):
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "x", "config": {"connector.class": "FileStreamSource", "topic": "t"}}))
    code = f"import sys; sys.modules[{module!r}] = None; from connect.cli import main; main(sys.argv[1:])"
    argv = [sys.executable, "-c", code, command, *([str(file)] if command == "poc" else ["--exit"])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert f"pip install 'connect-for-kafka[{extra}]'" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
