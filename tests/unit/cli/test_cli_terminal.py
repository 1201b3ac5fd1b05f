"""Checks that no text of a server, a connector's name or a dead letter steers a terminal, and that it is shown."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner
from rich.console import Console

from connect.cli import main
from connect.cli.shared.terminal import cell

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
EVIL = "orders\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e[/red][link=http://evil]"
STATE = {"state": "RUNNING", "worker_id": f"w:1{EVIL}", "trace": EVIL}
STATUS = {"name": EVIL, "type": "sink", "connector": STATE, "tasks": [{"id": 0, **STATE}]}
CONFIG = {"connector.class": EVIL, "name": EVIL}
ANSWERS = {
    "/": {"version": EVIL, "commit": EVIL, "kafka_cluster_id": EVIL},
    "/connectors": {EVIL: {"status": STATUS, "info": {"name": EVIL, "config": CONFIG, "tasks": [], "type": "sink"}}},
    "/connectors/x/topics": {"x": {"topics": [EVIL]}},
    "/connectors/x/status": STATUS,
    "/connectors/x": {"name": EVIL, "config": CONFIG, "tasks": [], "type": "sink"},
    "/connectors/x/config": CONFIG,
    "/connectors/x/history": {
        "configs": [{"version": 1, "changed_ms": 1, "who": EVIL, "changes": None}],
        "states": [{"task": 0, "changed_ms": 1, **STATE}],
        "rebalances": [{"changed_ms": 1, "leader": EVIL, "workers": [EVIL]}],
    },
}


class Hostile(BaseHTTPRequestHandler):
    """Answers what is in ANSWERS, and everything else with an error whose text steers."""

    def do_GET(self) -> None:
        found = ANSWERS.get(self.path.split("?")[0])
        body = json.dumps(found or {"error_code": 500, "message": f"it broke: {EVIL}"}).encode()
        self.send_response(200 if found else 500)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "command",
    [
        "status", "connectors list", "connectors status x", "connectors get x", "connectors topics x",
        "connectors why x", "connectors history x", "plugins", "doctor", "top --once",
    ],
)  # fmt: skip
def test_no_answer_of_a_server_steers_the_terminal(url, command):
    done = CliRunner().invoke(main, [*command.split(), "--url", url])

    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "pwned" in done.output
    assert not STEERS.search(done.output), ascii(done.output)


def test_json_is_what_it_was(url):
    done = CliRunner().invoke(main, ["connectors", "get", "x", "--url", url])

    assert json.loads(done.output)["config"]["connector.class"] == EVIL


def test_a_cell_has_no_markup():
    console = Console(width=200, force_terminal=True, record=True)
    console.print(cell(EVIL))

    assert console.export_text().startswith(r"orders\x1b]0;pwned\x07\x1b[2J\u009b31m\u202e[/red][link=http://evil]")
