"""What a cluster that is Java's does not answer, said in words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from connect.api.errors import ConnectError
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
