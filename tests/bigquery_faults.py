"""Runs a proxy before BigQuery's REST API that answers some requests with errors, loses replies, or delays requests."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_APART_S, _MEET_S = 0.05, 90.0
_NOT_FORWARDED = frozenset({"connection", "transfer-encoding", "content-length", "date", "server"})


@dataclass
class Fault:
    """Tells what happens to `times` requests whose "METHOD path body" matches `where`, after the first `after` of them.

    With `status` and `reason` they are answered so, and not forwarded. With `lost` they are forwarded, and the reply is
    cut off. With `delay_s` they are forwarded after that time. `meets` forwards them once as many such requests have
    come, one shortly after the other. `held` forwards them (or, with `lost`, cuts them off) once it is set. `met` has
    the requests that it was applied to.
    """

    where: str
    times: int = 1
    after: int = 0
    status: int = 0
    reason: str = ""
    lost: bool = False
    delay_s: float = 0.0
    meets: threading.Barrier | None = None
    held: threading.Event | None = None
    met: list[str] = field(default_factory=list)

    def takes(self, request: str) -> bool:
        if re.search(self.where, request, re.DOTALL) is None or not self.times:
            return False
        if self.after:
            self.after -= 1
            return False
        self.times -= 1
        self.met.append(request)
        return True

    @property
    def job_ids(self) -> list[str]:
        """Return the ids of the jobs in those requests."""
        return [found[1] for request in self.met if (found := re.search(r'"jobId": "([^"]+)"', request))]


class FaultProxy:
    """Runs the proxy from entry to exit. The first of `faults` that takes a request is applied; `met` has those
    requests.
    """

    def __init__(self, url: str) -> None:
        self.upstream = urlsplit(url).netloc
        self.faults: list[Fault] = []
        self.met: list[str] = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def add(self, where: str, **how: str | bool | float | threading.Barrier | threading.Event) -> Fault:
        fault = Fault(where, **how)  # type: ignore[arg-type]
        with self.lock:
            self.faults.append(fault)
        return fault

    def fault_of(self, request: str) -> Fault | None:
        with self.lock:
            found = next((fault for fault in self.faults if fault.takes(request)), None)
            if found is not None:
                self.met.append(request[:200])
            return found


class _Handler(BaseHTTPRequestHandler):
    owner: FaultProxy
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        fault = self.owner.fault_of(f"{self.command} {self.path} {body[:20_000].decode('utf-8', 'replace')}")
        if fault is not None and fault.delay_s:
            self.owner.stopped.wait(fault.delay_s)
        if fault is not None and fault.held is not None and not fault.lost:
            fault.held.wait(_MEET_S)
        if fault is not None and fault.meets is not None:
            # The emulator looks for a job's id and notes it in two steps, while BigQuery does so in one.
            self.owner.stopped.wait(_APART_S * fault.meets.wait(_MEET_S))
        if fault is not None and fault.status:
            self._send(fault.status, {"content-type": "application/json"}, _error(fault))
            return
        connection = http.client.HTTPConnection(self.owner.upstream, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):  # the real server cannot be reached
            self._cut()
            return
        finally:
            connection.close()
        if fault is not None and fault.lost:
            if fault.held is not None:
                fault.held.wait(_MEET_S)
            self._cut()
            return
        self._send(answer.status, dict(answer.getheaders()), content)

    def _send(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        try:
            self._write(status, headers, content)
        except ConnectionError:  # the client has given up
            self.close_connection = True

    def _write(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _NOT_FORWARDED:
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _error(fault: Fault) -> bytes:
    message = f"{fault.reason or fault.status}, says the proxy"
    part = {"reason": fault.reason, "message": message, "domain": "global"}
    return json.dumps({"error": {"code": fault.status, "message": message, "errors": [part]}}).encode()
