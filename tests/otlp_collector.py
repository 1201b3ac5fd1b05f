"""Runs a collector of OpenTelemetry on loopback, to which a test's worker or exporter sends over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def receiving(take: Callable[[bytes], object]) -> Iterator[str]:
    """Yield the URL of a collector that gives `take` the body of each request."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
