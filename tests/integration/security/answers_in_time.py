"""Asks a worker in a separate process while it is attacked, and asks a bare server beside it for comparison."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ANSWERS_WITHIN_S = 1.0
ASK = """
import http.server, json, sys, threading, time, urllib.request
class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"[]")
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
addresses = {"rest": sys.argv[1] + "/connectors", "control": f"http://127.0.0.1:{server.server_port}/"}
worst, answers, over = dict.fromkeys(addresses, 0.0), 0, threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
print("asking", flush=True)
while not over.is_set() or not answers:
    for name, address in addresses.items():
        began = time.monotonic()
        urllib.request.urlopen(address, timeout=60).read()
        worst[name] = max(worst[name], time.monotonic() - began)
    answers += 1
    over.wait(0.05)
print(json.dumps({**worst, "answers": answers}))
"""


@contextmanager
def answering(url: str, note: Callable[[dict[str, Any]], None] | None = None) -> Iterator[None]:
    """Fail if REST took longer than a second inside the block, or longer by more than others took of the machine.

    `note` is called with what was seen.
    """
    asking = subprocess.Popen(
        [sys.executable, "-I", "-c", ASK, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert asking.stdout is not None
    asking.stdout.readline()
    try:
        yield
    finally:
        told, _ = asking.communicate(timeout=120)
    assert asking.returncode == 0, "REST gave no answer while it was attacked"
    seen = {**json.loads(told), "load": os.getloadavg()[0]}
    if note is not None:
        note(seen)
    limit_s = ANSWERS_WITHIN_S * max(1.0, seen["load"] / (os.cpu_count() or 1))
    assert seen["rest"] < limit_s, (
        f"REST took {seen['rest']:.3f} s while it was attacked, a bare server {seen['control']:.3f} s"
    )
