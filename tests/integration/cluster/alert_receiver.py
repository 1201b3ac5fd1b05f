"""Receives alerts in a separate process: `python alert_receiver.py PORT FILE` writes a line for each request.

It answers the first request later than anybody waits, the second with 500, the third with a redirect, and all others
with 200.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

SLOW_S = 15.0
"""This is longer than a worker waits for an answer."""
_numbers = count()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        number = next(_numbers)
        if number == 0:
            threading.Event().wait(SLOW_S)
        status = (500, 500, 302)[number] if number < 3 else 200
        line = {"status": status, "path": self.path, "headers": dict(self.headers), "body": body.decode()}
        with Path(sys.argv[2]).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
