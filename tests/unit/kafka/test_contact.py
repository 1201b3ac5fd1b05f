"""Checks why no broker is reached, told in words by real clients against real sockets."""

from __future__ import annotations

import socket
import socketserver
import threading

import pytest

from connect.api.errors import RetriableError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.connection_diagnosis import NOT_KAFKA, explained
from connect.lib.deadline import Deadline


class RefusesAll(socketserver.BaseRequestHandler):
    """A web server: answers whatever is not HTTP with 400."""

    def handle(self):
        self.request.recv(1)
        self.request.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


@pytest.fixture
def http_port():
    server = Server(("127.0.0.1", 0), RefusesAll)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture
def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def refusal(address: str, wanted: str, **settings: str) -> str:
    """What is said when no broker answers, asked for longer and longer until the wanted words are in it."""
    text = ""
    for wait_s in (0.25, 1.0, 8.0, 30.0):
        admin = TopicAdmin({"bootstrap.servers": address, "reconnect.backoff.ms": 20, **settings})
        with pytest.raises(RetriableError) as failed:
            admin.cluster_id(Deadline.after(wait_s))
        text = str(failed.value)
        if wanted in text:
            break
    return text


def test_a_port_where_nothing_listens(closed_port):
    wanted = f"Connect to ipv4#127.0.0.1:{closed_port} failed: Connection refused. Nothing listens there"
    assert refusal(f"127.0.0.1:{closed_port}", wanted).startswith(wanted)


def test_errors_that_librdkafka_counts_are_told_as_one():
    counted = (
        "Connect to ipv4#h:1 failed: Connection refused (after 0ms in state CONNECT, 12 identical error(s) suppressed)"
    )
    assert explained(f"h:1/bootstrap: {counted}").startswith(
        "Connect to ipv4#h:1 failed: Connection refused. Nothing listens there"
    )


def test_a_host_nobody_knows():
    text = refusal("no-such-host.invalid:9092", "name right in bootstrap.servers")
    assert text.startswith("Failed to resolve 'no-such-host.invalid:9092': ")
    assert "name right in bootstrap.servers" in text


def test_a_listener_without_tls(http_port):
    wanted = "wrong version number. Is security.protocol the one of that listener"
    assert wanted in refusal(f"127.0.0.1:{http_port}", wanted, **{"security.protocol": "SSL"})


def test_a_port_that_is_not_kafkas(http_port):
    wanted = "What listens there does not speak Kafka's protocol"
    assert wanted in refusal(f"127.0.0.1:{http_port}", wanted)


def test_a_port_that_says_nothing():
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        assert refusal(f"127.0.0.1:{mute.getsockname()[1]}", NOT_KAFKA).startswith(NOT_KAFKA)


def test_words_without_a_known_sign_stay_as_they_are():
    assert explained("sasl_ssl://b:9092/1: Something new (after 3ms in state AUTH)") == "Something new."
