"""Attacks a worker on this machine by pages of other sites, in a real Chromium: they read and change nothing."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, needs_chromium
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint

pytestmark = needs_chromium
ASK = """async ([url, options]) => {
  try {
    const answer = await fetch(url, options);
    return [answer.status, answer.type === "opaque" ? "" : await answer.text()];
  } catch (error) { return [0, String(error)]; }
}"""
FORM = """([url]) => { const form = document.createElement("form"); form.method = "POST"; form.action = url;
  document.body.append(form); form.submit(); }"""


class Page(http.server.BaseHTTPRequestHandler):
    """An empty page of somebody else."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html><body>hello</body></html>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def evil_port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def page() -> Iterator[Any]:
    """A browser for which every name leads to this machine, as an attacker's may at any moment."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        options = ["--no-sandbox", "--host-resolver-rules=MAP * 127.0.0.1"]
        running = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield running.new_page()
        running.close()


def test_no_page_reads_or_changes_a_worker(
    kafka: KafkaEndpoint, tmp_path: Path, unique: str, evil_port: int, page: Any
) -> None:
    (tmp_path / "in.txt").write_text("line\n")
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, unique, **{"allowed.paths": str(tmp_path), "auto.restart.enabled": "false"}
    )
    worker.start()
    port = worker.url.rpartition(":")[2]
    path = "/connectors/c"
    try:
        config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": unique}
        assert worker.create("c", config).status_code == 201
        worker.wait_for_tasks("c", "RUNNING")
        runs = worker.status("c")

        # A name of the attacker's that leads to the worker: the page is of the same origin as far as the browser knows.
        rebound = f"http://rebound.example:{port}"
        page.goto(f"http://evil.example:{evil_port}/")
        assert page.goto(f"{rebound}/connectors").status == 403
        for method, at in (
            ("GET", "/connectors"),
            ("GET", f"{path}/config"),
            ("PUT", f"{path}/pause"),
            ("DELETE", path),
        ):
            options = {"method": method, "referrerPolicy": "no-referrer", "headers": {"Accept-Language": "*"}}
            status, text = page.evaluate(ASK, [f"{rebound}{at}", options])
            assert (status, "rest.allowed.hosts" in text) == (403, True), (method, at)

        # A page of another site that asks the worker by its own name.
        page.goto(f"http://evil.example:{evil_port}/")
        for method, at in (("POST", f"{path}/restart"), ("POST", f"{path}/tasks/0/restart"), ("POST", "/poc")):
            page.evaluate(ASK, [f"http://127.0.0.1:{port}{at}", {"method": method, "mode": "no-cors"}])
        for method, at in (("PUT", f"{path}/stop"), ("DELETE", path), ("GET", "/connectors")):
            status, _ = page.evaluate(ASK, [f"http://127.0.0.1:{port}{at}", {"method": method}])
            assert status == 0
        with page.expect_navigation():
            page.evaluate(FORM, [f"http://127.0.0.1:{port}{path}/restart?includeTasks=true"])
        assert "may change nothing here" in page.content()
        assert worker.status("c") == runs

        # The worker's own page may do both.
        page.goto(f"http://localhost:{port}/connectors")
        status, text = page.evaluate(ASK, ["/connectors", {}])
        assert (status, text) == (200, '["c"]')
        options = {"method": "POST", "headers": {"X-Requested-With": "page"}}
        assert page.evaluate(ASK, [f"{path}/restart", options])[0] == 204
        assert page.evaluate(ASK, [f"{path}/pause", {"method": "PUT"}])[0] == 202
    finally:
        worker.stop()
