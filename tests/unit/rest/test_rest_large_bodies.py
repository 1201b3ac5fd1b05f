"""Asks as often as clients like for what takes a worker long to read or to show: another client is answered meanwhile.

What this process computes in between counts, whoever else has the machine.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from contextlib import ExitStack

import pytest
from rest_client import FILE_SOURCE, Rest

CLIENTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
EACH = 32
"""So many requests of a client a worker is at work on."""
ANSWERED_S = 1.0
VERSIONS = 20
OFFSETS = json.dumps({"offsets": [{"partition": {"a": n}, "offset": {"b": 1}} for n in range(14_000)]}).encode()
TEXTS = b'["' + b'","' * 340_000 + b'"]'


def answered_s(port: int) -> float:
    """Return the CPU seconds that go by while another client is answered, the longer of two times."""
    spent_s = []
    for path in ("/", "/connectors"):
        began_s = time.process_time()
        other = http.client.HTTPConnection("127.0.0.1", port, 60, ("127.0.0.77", 0))
        other.request("GET", path)
        assert other.getresponse().read()
        other.close()
        spent_s.append(time.process_time() - began_s)
    return max(spent_s)


@pytest.mark.parametrize("body", [OFFSETS, TEXTS], ids=["offsets", "texts"])
def test_another_client_is_answered_between_large_bodies(rest: Rest, body: bytes) -> None:
    port = int(rest.url.rpartition(":")[2])
    head = (f"PATCH /connectors/none/offsets HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()  # fmt: skip
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 60, (address, 0)))
            for address in CLIENTS
            for _ in range(EACH)
        ]
        for client in clients:
            client.sendall(head + body[:-1])
        for client in clients:
            client.sendall(body[-1:])
        assert answered_s(port) < ANSWERED_S
        assert clients[0].recv(12) in {b"HTTP/1.1 404", b"HTTP/1.1 400"}


def test_another_client_is_answered_beside_a_long_history(rest: Rest) -> None:
    port = int(rest.url.rpartition(":")[2])
    rest.create("c")
    for version in range(VERSIONS):
        text = "".join(f"http://u:pa5s-{version}-{number}@h/," for number in range(6000))
        rest.operations.store("c", {"connector.class": FILE_SOURCE, "topic": "t", "x": text}, "me")
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        client.sendall(b"GET /connectors/c/history HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answered_s(port) < ANSWERED_S
        assert client.recv(12) == b"HTTP/1.1 200"
