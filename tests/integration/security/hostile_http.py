"""Runs an HTTP server that answers as an attacker likes, and has answers without end in bytes, time or depth."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hostile_texts import MIB
from running_server import running


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    server: HostileServer

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        try:
            self.server.answers(self)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        return


for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
    setattr(Handler, f"do_{method}", Handler.answer)
Answer = Callable[[Handler], None]


class HostileServer(ThreadingHTTPServer):
    """Gives the same answer to every request, and keeps method, path, headers and body of each."""

    daemon_threads = True

    def __init__(self, answers: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


def hostile(answers: Answer) -> AbstractContextManager[HostileServer]:
    """Run a server that gives these answers."""
    server = HostileServer(answers)
    return running(server, server.over)


def say(body: Any, status: int = 200, **headers: str) -> Answer:
    """Return an answer with these bytes, or with this value as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(to: Handler) -> None:
        to.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(data))}.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(data)

    return answer


def redirect(to_url: str, status: int = 302) -> Answer:
    """Return an answer that sends the client elsewhere."""
    return say(b"", status, Location=to_url)


def nested(depth: int = 100_000) -> Answer:
    """Return an answer with very deeply nested JSON."""
    return say(b"[" * depth + b"]" * depth)


def huge(size: int = 1024 * MIB) -> Answer:
    """Return an answer that announces and sends very many bytes."""

    def answer(to: Handler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(size))
        to.end_headers()
        part = b" " * MIB
        for _ in range(size // MIB):
            to.wfile.write(part)

    return answer


def endless_chunks(to: Handler) -> None:
    """Send chunks until nobody listens."""
    to.send_response(200)
    to.send_header("Transfer-Encoding", "chunked")
    to.end_headers()
    while not to.server.over.is_set():
        to.wfile.write(b"100000\r\n" + b" " * MIB + b"\r\n")


def bomb(mib: int = 1024) -> Answer:
    """Return an answer whose body unpacks to `mib` MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return say(b"".join(packer.compress(b" " * MIB) for _ in range(mib)) + packer.flush(), Content_Encoding="gzip")


def slow_headers(to: Handler) -> None:
    """Send a header that never ends, a byte at a time."""
    to.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _drip(to)


def slow_body(to: Handler) -> None:
    """Send a body that never ends, a byte at a time."""
    to.send_response(200)
    to.send_header("Content-Length", "1000000")
    to.end_headers()
    _drip(to)


def interim_answers(to: Handler) -> None:
    """Announce for ever that an answer will come."""
    while not to.server.over.wait(0.05):
        to.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _drip(to: Handler) -> None:
    while not to.server.over.wait(0.05):
        to.wfile.write(b" ")


ENDLESS: dict[str, Answer] = {
    "1 GiB": huge(), "chunks": endless_chunks, "bomb": bomb(), "slow headers": slow_headers, "slow body": slow_body,
    "interim answers": interim_answers,
}  # fmt: skip
"""Maps names to answers without end."""
