"""Sends requests that take long, as many as one client likes: those of other clients, and reads, are answered at
once.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import requests
from memory_cluster import MemoryOperations
from rest_client import FILE_SOURCE
from sample_plugins import catalog, worker_config

from connect.cluster.model.connector_values import Checked
from connect.rest.access.worker_signatures import Signable, digest_of
from connect.rest.app import rest_app
from connect.rest.rest_server import HttpThread
from connect.rest.server.author import ORIGIN
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import bind
from connect.rest.server.request_body import ARRIVE_S

CONNECTIONS = 16
AT_WORK = CONNECTIONS // 8
WAIT_S = 60.0


class SlowChecks(MemoryOperations):
    """A cluster whose connectors ask a server that says nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Future[Checked]] = []
        self.names: list[str] = []
        self.askers: list[str] = []
        self.at_work = threading.Semaphore(0)
        self.trials.check = self._check  # type: ignore[method-assign]

    def _check(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[Checked]:
        future: Future[Checked] = Future()
        self.held.append(future)
        self.names.append(config["name"])
        self.askers.append(asker)
        self.at_work.release()
        return future

    def let_go(self, number: int) -> None:
        self.held[number].set_result(Checked({}, ()))


@pytest.fixture
def slow() -> Iterator[tuple[SlowChecks, int]]:
    settings = worker_config(listeners="http://127.0.0.1:0", **{"rest.connections.max": str(CONNECTIONS)})
    operations, bound = SlowChecks(), bind(settings)
    server = HttpThread(rest_app(RestContext(operations, catalog(), settings)), bound, None, CONNECTIONS)
    server.start()
    yield operations, bound.ports[0]
    server.stop()


def asks(
    stack: ExitStack, port: int, name: str, source: str = "127.0.0.1", sent_on_from: str | None = None
) -> socket.socket:
    """Send the configuration of a connector, as a client or as a worker that sends it on, and wait for no answer."""
    body = json.dumps({"connector.class": FILE_SOURCE, "topic": "t"}).encode()
    client = stack.enter_context(socket.create_connection(("127.0.0.1", port), WAIT_S, (source, 0)))
    path, query = f"/connectors/{name}/config", "" if sent_on_from is None else "?forward=true"
    head = f"PUT {path}{query} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    if sent_on_from is not None:
        sent = Signable("PUT", path, query[1:], "", sent_on_from, digest=digest_of(body))
        headers = {ORIGIN: sent_on_from, **sent.headers(MemoryOperations().session_key)}
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return client


def names(port: int) -> list[str]:
    return list(requests.get(f"http://127.0.0.1:{port}/connectors", timeout=WAIT_S).json())


def until(condition: Callable[[], bool]) -> None:
    limit_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < limit_s, "it did not come to that"
        threading.Event().wait(0.01)


def test_hundreds_of_slow_requests_of_one_client_keep_nobody_out(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    with ExitStack() as stack:
        for number in range(5 * CONNECTIONS):
            asks(stack, port, f"a{number}")
        for _ in range(AT_WORK):
            assert operations.at_work.acquire(timeout=WAIT_S)
        assert names(port) == []
        other = asks(stack, port, "other", "127.0.0.2")
        assert operations.at_work.acquire(timeout=WAIT_S)
        assert len(operations.held) == AT_WORK + 1
        operations.let_go(AT_WORK)
        assert other.recv(100).startswith(b"HTTP/1.1 201")
        assert names(port) == ["other"]


def test_a_client_of_another_worker_has_places_of_its_own(
    slow: tuple[SlowChecks, int],
) -> None:
    operations, port = slow
    with ExitStack() as stack:
        for number in range(2 * AT_WORK):
            asks(stack, port, f"a{number}", sent_on_from="10.0.0.1")
        for _ in range(AT_WORK):
            assert operations.at_work.acquire(timeout=WAIT_S)
        asks(stack, port, "other", sent_on_from="10.0.0.2")
        assert operations.at_work.acquire(timeout=WAIT_S)
        assert operations.names[-1] == "other", "it had to wait for one of those before it"


@pytest.mark.parametrize(
    ("source", "sent_on_from", "asker"),
    [
        ("127.0.0.2", None, "address 127.0.0.2"),
        ("127.0.0.1", "10.0.0.1", "address 10.0.0.1"),
        ("127.0.0.1", "2001:db8::7:1", "address 2001:db8::/64"),
        ("127.0.0.1", "fe80::1%eth0", "address fe80::/64"),
    ],
)
def test_a_check_is_asked_in_the_name_of_its_client(
    slow: tuple[SlowChecks, int], source: str, sent_on_from: str | None, asker: str
) -> None:
    operations, port = slow
    with ExitStack() as stack:
        asks(stack, port, "a", source, sent_on_from)
        assert operations.at_work.acquire(timeout=WAIT_S)
        operations.let_go(0)
    assert operations.askers == [asker]


def test_addresses_of_one_network_have_the_turns_of_one_client(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    with ExitStack() as stack:
        for number in range(AT_WORK + 1):
            asks(stack, port, f"a{number}", sent_on_from=f"2001:db8::{number:x}")
        asks(stack, port, "other", sent_on_from="2001:db8:0:1::1")
        for _ in range(AT_WORK + 1):
            assert operations.at_work.acquire(timeout=WAIT_S)
        assert "other" in operations.names
        for number in range(AT_WORK + 1):
            operations.let_go(number)
        assert operations.at_work.acquire(timeout=WAIT_S)


def test_each_gets_its_turn(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    with ExitStack() as stack:
        clients = [asks(stack, port, f"a{number}") for number in range(3 * AT_WORK)]
        for number in range(3 * AT_WORK):
            assert operations.at_work.acquire(timeout=WAIT_S)
            operations.let_go(number)
        assert all(client.recv(100).startswith(b"HTTP/1.1 201") for client in clients)


def test_a_request_whose_client_went_before_its_turn_changes_nothing(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    with ExitStack() as stack:
        kept = [asks(stack, port, f"kept{number}") for number in range(AT_WORK)]
        for _ in kept:
            assert operations.at_work.acquire(timeout=WAIT_S)
        with ExitStack() as gone:
            asks(gone, port, "gone")
            names(port)
        last = asks(stack, port, "last")
        operations.let_go(0)
        assert operations.at_work.acquire(timeout=WAIT_S)
        for number in range(1, AT_WORK + 1):
            operations.let_go(number)
        assert all(client.recv(100).startswith(b"HTTP/1.1 201") for client in (*kept, last))
        assert sorted(names(port)) == ["kept0", "kept1", "last"]


def test_a_client_whose_requests_wait_by_the_hundreds_is_told_so(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    with ExitStack() as stack:
        answers = []
        for number in range(5 * CONNECTIONS):
            client = asks(stack, port, f"a{number}")
            if number < AT_WORK:
                assert operations.at_work.acquire(timeout=WAIT_S)
            if number > CONNECTIONS + AT_WORK:
                answers.append(client)
        until(lambda: b"HTTP/1.1 429" in b"".join(_said(client) for client in answers))


def _said(client: socket.socket) -> bytes:
    client.setblocking(False)
    try:
        return client.recv(100)
    except (BlockingIOError, ConnectionResetError):
        return b""


def test_pages_that_are_live_keep_no_request_of_their_client_waiting(slow: tuple[SlowChecks, int]) -> None:
    _, port = slow
    with ExitStack() as stack:
        for _ in range(2 * AT_WORK):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), WAIT_S))
            client.sendall(b"GET /ui/live/overview HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert names(port) == []


def test_bodies_that_do_not_come_keep_no_request_of_their_client_waiting(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    with ExitStack() as stack:
        for _ in range(2 * AT_WORK):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), WAIT_S))
            client.sendall(b"PUT /connectors/a/config HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: 9\r\n\r\n")  # fmt: skip
        begun_s = time.monotonic()
        client = asks(stack, port, "a")
        assert operations.at_work.acquire(timeout=WAIT_S)
        operations.let_go(0)
        assert client.recv(100).startswith(b"HTTP/1.1 201")
        assert time.monotonic() - begun_s < ARRIVE_S, "a slow body had to end first"


@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_a_client_that_sends_a_body_in_tiny_chunks_is_ended(slow: tuple[SlowChecks, int], method: str) -> None:
    _, port = slow
    head = f"{method} /connectors/a/config HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as client:
        client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with pytest.raises(ConnectionError):
            client.sendall(b"1\r\n \r\n" * 2_000_000)
    assert names(port) == []


def test_a_body_in_many_chunks_is_read(slow: tuple[SlowChecks, int]) -> None:
    operations, port = slow
    body = json.dumps({"connector.class": FILE_SOURCE, "topic": "t", "x": "y" * 200_000}).encode()
    with ThreadPoolExecutor(1) as pool:
        chunks = (body[at : at + 100] for at in range(0, len(body), 100))
        told = pool.submit(requests.put, f"http://127.0.0.1:{port}/connectors/a/config", data=chunks, timeout=WAIT_S,
                           headers={"Content-Type": "application/json"})  # fmt: skip
        assert operations.at_work.acquire(timeout=WAIT_S)
        operations.let_go(0)
        assert told.result(WAIT_S).status_code == 201
