"""Runs an HTTP API on loopback that keeps the requests that it gets, and answers with the statuses that a test sets."""

from __future__ import annotations

from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from running_server import running


class ApiServer(ThreadingHTTPServer):
    """Answers with `statuses` in turn, and then always with 200, and with the bodies `answers` in turn, and then always
    with `answer`. `asked` holds method, path, headers and body of each request, `raw_headers` the headers as they came.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses: list[int] = []
        self.answer = b"{}"
        self.answers: list[bytes] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.raw_headers: list[list[tuple[str, str]]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def bodies(self) -> list[bytes]:
        return [body for *_, body in self.asked]

    def paths(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path, *_ in self.asked]


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ApiServer
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        self.server.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.server.raw_headers.append(self.headers.items())
        answer = self.server.answers.pop(0) if self.server.answers else self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the names that the base class calls

    def log_message(self, *_: object) -> None:
        return


def api() -> AbstractContextManager[ApiServer]:
    """Run a server."""
    return running(ApiServer())
