"""Checks what a cluster that is Java's does not answer, said in words."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from connect.api.errors import ConnectError
from connect.cli.shared.cluster_options import client_of
from connect.cli.top.scrapes import scraped
from connect.client.contexts import Contexts, write_contexts
from connect.client.rest import Access, ConnectClient, RefusedError


class Answers(BaseHTTPRequestHandler):
    """As a worker of Java 4.1 answers a path that it does not know, and a connector that it does not know."""

    def do_GET(self) -> None:
        known = self.path.endswith("/config")
        self.answer("Connector orders not found" if known else "HTTP 404 Not Found")

    def do_PUT(self) -> None:
        self.answer("HTTP 404 Not Found")

    def answer(self, message: str) -> None:
        body = f'{{"error_code": 404, "message": "{message}"}}'.encode()
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def java() -> Iterator[ConnectClient]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ConnectClient(Access(f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()


def test_a_java_cluster_is_said_to_keep_no_versions(java: ConnectClient):
    for ask in (lambda: java.history("orders"), lambda: java.rollback("orders", 1)):
        with pytest.raises(ConnectError, match="keeps no versions of configurations, as a Java one does not"):
            ask()
    with pytest.raises(RefusedError, match="Connector orders not found"):
        java.config("orders")


class Told(HTTPServer):
    """A worker with logins; it names workers for the tasks of its connector, and keeps who asked for metrics."""

    def __init__(self, *workers: str) -> None:
        super().__init__(("127.0.0.1", 0), Telling)
        self.workers = workers
        self.heard: list[str | None] = []


class Telling(BaseHTTPRequestHandler):
    server: Told

    def do_GET(self) -> None:
        login, body = self.headers.get("Authorization"), b""
        if self.path == "/metrics":
            self.server.heard.append(login)
        else:
            tasks = [{"id": n, "state": "RUNNING", "worker_id": one} for n, one in enumerate(self.server.workers)]
            status = {"name": "orders", "connector": {"state": "RUNNING"}, "tasks": tasks}
            body = json.dumps({"orders": {"status": status}}).encode()
        self.send_response(200 if login else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def telling(*workers: str) -> Iterator[Told]:
    with Told(*workers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.attacks
def test_a_host_that_an_answer_names_does_not_hear_who_asks():
    with telling() as other:
        there = f"localhost:{other.server_port}"
        tricks = [there, f"127.0.0.1@{there}", f"127.0.0.1:1@{there}", f"{there}/127.0.0.1:1"]
        with telling(*tricks) as asked:
            scraped(ConnectClient(Access(f"http://127.0.0.1:{asked.server_port}", token="t0ken")))
        assert asked.heard == ["Bearer t0ken"]
        assert other.heard
        assert set(other.heard) == {None}
        with telling(f"127.0.0.1:{other.server_port}") as asked:
            scraped(ConnectClient(Access(f"http://127.0.0.1:{asked.server_port}", token="t0ken")))
        assert other.heard[-1] == "Bearer t0ken", "another worker of the same host hears it"


class Asking(BaseHTTPRequestHandler):
    """A worker that lets in whoever has the token of its server."""

    server: Asked

    def do_GET(self) -> None:
        self.send_response(200 if self.headers.get("Authorization") == f"Bearer {self.server.token}" else 401)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


class Asked(HTTPServer):
    token = "first"


@pytest.fixture
def asked() -> Iterator[Asked]:
    with Asked(("127.0.0.1", 0), Asking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_command_that_goes_on_has_the_token_that_its_file_has_now(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Kubernetes writes a Secret's new token into the mounted file of a pod, whose variables stay."""
    file = tmp_path / "token"
    monkeypatch.setenv("CONNECT_TOKEN_FILE", str(file))
    monkeypatch.setenv("CONNECT_CONTEXTS", str(tmp_path / "contexts.yaml"))
    file.write_text("first\n")
    client = client_of(f"http://127.0.0.1:{asked.server_port}", None)
    assert client.connectors() == {}
    asked.token = "second"
    with pytest.raises(RefusedError):
        client.connectors()
    file.write_text("second")
    assert client.connectors() == {}
    file.unlink()
    with pytest.raises(ConnectError, match="token of CONNECT_TOKEN_FILE cannot be read"):
        client.connectors()


def test_a_command_that_goes_on_has_the_renewed_login_of_its_context(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "contexts.yaml"
    monkeypatch.setenv("CONNECT_CONTEXTS", str(file))
    monkeypatch.delenv("CONNECT_URL", raising=False)
    url, other = f"http://127.0.0.1:{asked.server_port}", {"url": "http://127.0.0.1:9"}
    write_contexts(file, Contexts("near", {"near": {"url": url, "token": "first"}, "other": other}))
    client = client_of(None, None)
    assert client.connectors() == {}
    asked.token = "second"
    write_contexts(file, Contexts("other", {"near": {"url": url, "token": "second"}, "other": other}))
    assert client.connectors() == {}, "the context that it began with, whichever is in use now"
    write_contexts(file, Contexts("other", {"near": {**other, "token": "elsewhere"}, "other": other}))
    assert client.connectors() == {}, "a login for another address goes to none but that"


def test_an_answer_that_is_nested_too_deep_is_no_workers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ConnectClient, "_answer", lambda *_: b"[" * 200_000)
    with pytest.raises(ConnectError, match="no Connect worker: it sent JSON that is nested deeper than 200 levels"):
        ConnectClient(Access("http://127.0.0.1:9")).server()
