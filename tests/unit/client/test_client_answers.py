"""A server that answers a command in a shape of its own is said to be no worker: no traceback, and bounded memory."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.cli import main
from connect.client.answers import OBJECTS_BYTES_MAX, WrongAnswerError, needed_bytes, read_answer, read_json

pytestmark = pytest.mark.attacks

STATUS = {"name": "c", "type": "source", "connector": {"state": "RUNNING", "worker_id": "w:1"},
          "tasks": [{"id": 0, "state": "FAILED", "worker_id": "w:1", "trace": "boom"}]}  # fmt: skip
INFO = {"name": "c", "type": "source", "config": {"connector.class": "a.B", "null": None}, "tasks": []}
HONEST: dict[str, Any] = {
    "/": {"version": "4.1.0", "commit": "c", "kafka_cluster_id": "k"},
    "/connectors": ["c"],
    "/connectors?expand=info&expand=status": {"c": {"status": STATUS, "info": INFO}, "new": {}},
    "/connectors/c/status": STATUS,
    "/connectors/c/config": INFO["config"],
    "/connectors/c/why": [{"about": "connector c", "text": "RUNNING"}],
    "/connectors/c/topics": {"c": {"topics": ["t"]}},
    "/connectors/c/offsets": {"offsets": [{"partition": {"kafka_topic": "t"}, "offset": None}]},
    "/connector-plugins?connectorsOnly=false": [{"class": "a.B", "type": "source", "version": None}],
}
COMMANDS = (
    ("connectors", "list"), ("connectors", "status", "c"), ("connectors", "get", "c"), ("connectors", "why", "c"),
    ("connectors", "topics", "c"), ("connectors", "offsets", "c"), ("connectors", "history", "c"),
    ("connectors", "sample", "c"), ("connectors", "pause", "c"), ("connectors", "restart", "c"),
    ("connectors", "delete", "c", "--yes"), ("connectors", "offsets", "c", "--reset"),
    ("plugins",), ("flow", "--once"), ("status",), ("doctor",),
)  # fmt: skip
SPOILT = {
    ("connectors", "list"): "/connectors?expand=info&expand=status",
    ("connectors", "status", "c"): "/connectors/c/status",
    ("connectors", "get", "c"): "/connectors/c/config",
    ("connectors", "why", "c"): "/connectors/c/why",
    ("connectors", "topics", "c"): "/connectors/c/topics",
    ("connectors", "offsets", "c"): "/connectors/c/offsets",
    ("plugins",): "/connector-plugins?connectorsOnly=false",
}
LIES = {
    "null": b"null", "a list": b"[]", "a list of lists": b"[[1]]", "a number": b"7", "a name": b'"x"',
    "numbers for names": b'{"1": 2, "connector": 3, "tasks": 4}', "an object": b'{"message": 7}',
    "nulls in it": b'{"c": null, "connector": null, "tasks": null, "offsets": null, "nodes": null, "findings": null}',
    "objects for texts": b'{"c": {"status": {"name": {}, "connector": {"state": []}, "tasks": [null]}}}',
    "deep": b"[" * 100_000 + b"]" * 100_000, "deep objects": b'{"a":' * 900 + b"1" + b"}" * 900,
    "no JSON": b"<html>", "no text": b"\xff\xfe\x00", "half a character": b'["\\ud800"]', "an endless name": b'"' * 9,
    "a large number": b"9" * 5000, "nothing": b"",
}  # fmt: skip


class Liar(BaseHTTPRequestHandler):
    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = self.server.lie  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def liar() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Liar) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_answer_ends_a_command_with_a_traceback(liar: HTTPServer, command: tuple[str, ...]) -> None:
    for lie in LIES.values():
        require_no_traceback(liar, command, 200, lie)
    for name in ("null", "a list", "deep", "no text"):
        require_no_traceback(liar, command, 404, LIES[name])


@pytest.mark.parametrize("path", HONEST)
def test_answers_of_a_worker_are_taken(path: str) -> None:
    assert read_answer("GET", path, json.dumps(HONEST[path]).encode()) == HONEST[path]


@given(st.sampled_from([*SPOILT]), st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_part_of_another_type_ends_no_command_with_a_traceback(
    liar: HTTPServer, command: tuple[str, ...], data: st.DataObject
) -> None:
    spoilt = json.loads(json.dumps(HONEST[SPOILT[command]]))
    holder, key = data.draw(st.sampled_from([*_places(spoilt)]))
    holder[key] = data.draw(st.sampled_from([None, 7, "text", [], {}, [7], {"a": 7}, True, 1.5]))
    require_no_traceback(liar, command, 200, json.dumps(spoilt).encode())


def require_no_traceback(liar: HTTPServer, command: tuple[str, ...], status: int, body: bytes) -> None:
    """Fail where a command that gets this answer ends with a traceback, or prints without an end."""
    liar.lie = status, body  # type: ignore[attr-defined]
    ended = CliRunner().invoke(main, [*command, "--url", f"http://127.0.0.1:{liar.server_port}"])
    crash = None if isinstance(ended.exception, SystemExit) else ended.exception
    assert crash is None, f"{status} {body[:200]!r}: {crash!r}"
    assert len(ended.output) < 200_000, f"{status} {body[:200]!r}"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from _places(inner)


@pytest.mark.parametrize("unit", [b"[],", b"{},", b'{"a":1},', b'"",', b"1234567,", b'"\\"",'], ids=repr)
def test_what_an_answer_takes_in_memory_is_foreseen(unit: bytes) -> None:
    text = b"[" + unit * 10_000 + b"0]"
    tracemalloc.start()
    try:
        read_json(text)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < needed_bytes(text)


def test_an_answer_that_would_fill_the_memory_is_refused_before_it_is_read() -> None:
    text = b"[" + b"[]," * (OBJECTS_BYTES_MAX // 90) + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(WrongAnswerError, match="would take more than 1024 MiB"):
            read_json(text)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000
