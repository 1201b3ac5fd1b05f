"""Requests that take long, as many as one client likes: those of other clients, and reads, are answered at once."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack

import pytest
import requests
from memory_cluster import MemoryOperations
from rest_client import FILE_SOURCE
from sample_plugins import catalog, worker_config

from connect.cluster.model.connector_values import Checked
from connect.rest.app import rest_app
from connect.rest.rest_server import HttpThread
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import bind

CONNECTIONS = 16
AT_WORK = CONNECTIONS // 8
WAIT_S = 60.0


class SlowChecks(MemoryOperations):
    """A cluster whose connectors ask a server that says nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Future[Checked]] = []
        self.at_work = threading.Semaphore(0)
        self.trials.check = self._check  # type: ignore[method-assign]

    def _check(self, config: Mapping[str, str], timeout_s: float) -> Future[Checked]:
        future: Future[Checked] = Future()
        self.held.append(future)
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


def asks(stack: ExitStack, port: int, name: str, source: str = "127.0.0.1") -> socket.socket:
    """Send the configuration of a connector, and wait for no answer."""
    body = json.dumps({"connector.class": FILE_SOURCE, "topic": "t"}).encode()
    client = stack.enter_context(socket.create_connection(("127.0.0.1", port), WAIT_S, (source, 0)))
    head = f"PUT /connectors/{name}/config HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
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
        assert names(port) == ["kept0", "kept1", "last"]


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
