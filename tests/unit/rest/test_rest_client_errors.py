"""Checks that an error of a client on the wire is one line in the log."""

from __future__ import annotations

import logging
import socket

import pytest
import requests
from memory_cluster import MemoryOperations
from sample_plugins import catalog, worker_config

from connect.rest.app import rest_app
from connect.rest.rest_server import HttpThread
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import bind


@pytest.fixture
def port():
    settings = worker_config(listeners="http://127.0.0.1:0")
    bound = bind(settings)
    server = HttpThread(rest_app(RestContext(MemoryOperations(), catalog(), settings)), bound)
    server.start()
    yield bound.ports[0]
    server.stop()


def answers(port):
    return requests.get(f"http://127.0.0.1:{port}/connectors", timeout=10).json() == []


@pytest.mark.parametrize("said", [b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nBad Header\r\n\r\n"])
def test_a_malformed_request_is_one_line_without_a_traceback(port, caplog, said):
    with caplog.at_level(logging.INFO), socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(said)
        assert client.recv(100).startswith(b"HTTP/1.0 400")
        assert answers(port)
    (record,) = [r for r in caplog.records if r.name == "aiohttp.server"]
    assert (record.levelno, record.exc_info) == (logging.INFO, None)
    assert "\n" not in record.getMessage()
    assert "127.0.0.1" in record.getMessage()


@pytest.mark.parametrize(
    "said",
    [
        b"NO HTTP AT ALL\r\n\r\n",
        b"\x16\x03\x01",
        b'POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"n',
    ],
)
def test_a_client_that_speaks_another_protocol_or_leaves_early_leaves_no_traceback(port, caplog, said):
    with caplog.at_level(logging.INFO):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(said)
        assert answers(port)
    assert [r for r in caplog.records if r.exc_info] == []
