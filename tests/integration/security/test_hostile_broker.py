"""A broker that lies gets no login of a worker's to a place that TLS does not vouch for, and ends no worker.

Source of the answers: Kafka's "Protocol Guide". They are of old versions, which librdkafka falls back to.
"""

from __future__ import annotations

import resource
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pytest
import trustme
from beside import Beside
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from e2e_worker import wait_for

from connect.kafka.client.settings import admin_settings

pytestmark = pytest.mark.attacks

PASSWORD: Final = "Kx7-broker-9Qz"
JAAS: Final = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="w" password="{PASSWORD}";'
MOST_MEMORY_MIB: Final = 200
_METADATA, _HANDSHAKE, _VERSIONS, _AUTHENTICATE = 3, 17, 18, 36
_SUPPORTED: Final = ((_METADATA, 2), (_HANDSHAKE, 1), (_VERSIONS, 0), (_AUTHENTICATE, 0))
ENDS_CLIENTS: Final = bytes(4)
"""The body of an answer to what versions there are, which ends the process of librdkafka 2.16."""


class Broker:
    """One listener: what its clients said, and how many came."""

    def __init__(self, tls: ssl.SSLContext | None, body: bytes | None, size: int | None) -> None:
        """`body` is the answer to everything, in place of polite ones; `size` is what it says of its own length."""
        self.tls = tls
        self._body, self._size = body, size
        self.advertised: tuple[str, int] | None = None
        """The place that it tells as the only broker's; None: its own."""
        self.heard = bytearray()
        self.came = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                connected, _ = self.listener.accept()
                threading.Thread(target=self._talk, args=(connected,), daemon=True).start()

    def _talk(self, connected: socket.socket) -> None:
        self.came.set()
        with suppress(OSError), connected, self._secured(connected) as client, client.makefile("rb") as reading:
            while len(head := self._read(reading.read(4))) == 4:
                request = self._read(reading.read(int.from_bytes(head, "big")))
                kind, version, correlation = struct.unpack_from("!HHI", request)
                body = self._polite(kind, version) if self._body is None else self._body
                size = len(body) + 4 if self._size is None else self._size
                client.sendall(struct.pack("!II", size, correlation) + body)

    def _secured(self, connected: socket.socket) -> socket.socket:
        return connected if self.tls is None else self.tls.wrap_socket(connected, server_side=True)

    def _read(self, part: bytes) -> bytes:
        self.heard += part
        return part

    def _polite(self, kind: int, version: int) -> bytes:
        """Take any login, and tell of one broker."""
        if kind == _VERSIONS:
            known = b"".join(struct.pack("!HHH", key, 0, most) for key, most in _SUPPORTED)
            return struct.pack("!HI", 35 if version else 0, len(_SUPPORTED)) + known
        if kind == _HANDSHAKE:
            return struct.pack("!HI", 0, 1) + _text("PLAIN")
        if kind == _AUTHENTICATE:
            return struct.pack("!hhI", 0, -1, 0)
        host, port = self.advertised or ("127.0.0.1", self.port)
        brokers = struct.pack("!II", 1, 1) + _text(host) + struct.pack("!Ih", port, -1)
        return brokers + _text("cluster") + struct.pack("!II", 1, 0)


def _text(text: str) -> bytes:
    return struct.pack("!H", len(text)) + text.encode()


@contextmanager
def listening(
    *, tls: ssl.SSLContext | None = None, body: bytes | None = None, size: int | None = None
) -> Iterator[Broker]:
    broker = Broker(tls, body, size)
    threading.Thread(target=broker.serve, daemon=True).start()
    try:
        yield broker
    finally:
        broker.listener.shutdown(socket.SHUT_RDWR)
        broker.listener.close()


def context_of(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


def ask(broker: Broker, **worker: str) -> AdminClient:
    """Ask for what topics there are, as a worker with this file does."""
    own = {
        "bootstrap.servers": f"127.0.0.1:{broker.port}", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS, **worker,
    }  # fmt: skip
    client = AdminClient(dict(admin_settings(own, {}, "c").properties))
    with suppress(KafkaException):
        client.list_topics(timeout=5)
    return client


@pytest.mark.parametrize("elsewhere", ["without TLS", "of another authority", "of another name"])
def test_over_tls_a_login_follows_no_address_that_is_advertised(elsewhere: str) -> None:
    ours, theirs = trustme.CA(), trustme.CA()
    contexts = {
        "without TLS": None, "of another authority": context_of(theirs, "127.0.0.1"),
        "of another name": context_of(ours, "other.example"),
    }  # fmt: skip
    with listening(tls=context_of(ours, "127.0.0.1")) as broker, listening(tls=contexts[elsewhere]) as other:
        broker.advertised = ("127.0.0.1", other.port)
        client = ask(broker, **{
            "security.protocol": "SASL_SSL", "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": ours.cert_pem.bytes().decode(),
        })  # fmt: skip
        assert PASSWORD.encode() in broker.heard
        client.describe_cluster()
        assert other.came.wait(20)
        with suppress(KafkaException):
            client.list_topics(timeout=2)
        assert PASSWORD.encode() not in other.heard


def test_without_tls_a_login_goes_where_brokers_send_it_as_documented() -> None:
    with listening() as broker, listening() as other:
        broker.advertised = ("127.0.0.1", other.port)
        client = ask(broker, **{"security.protocol": "SASL_PLAINTEXT"})
        client.describe_cluster()
        assert other.came.wait(20)
        with suppress(KafkaException):
            client.list_topics(timeout=2)
        assert PASSWORD.encode() in other.heard


@pytest.mark.parametrize("size", [0x7FFFFFFF, 0xFFFFFFFF, 3, 0])
def test_an_answer_of_a_size_that_cannot_be_takes_no_memory_and_no_login(size: int) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with listening(body=b"x" * 10_000_000, size=size) as broker:
        ask(broker, **{"security.protocol": "SASL_PLAINTEXT"})
        assert broker.came.is_set()
        assert PASSWORD.encode() not in broker.heard
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) >> 10 < MOST_MEMORY_MIB


@pytest.mark.parametrize(
    ("plugin", "client"),
    [("FileStreamSink", "consumer"), ("FileStreamSource", "producer"), ("FileStreamSource", "admin")],
)
def test_a_broker_of_a_connector_that_ends_its_clients_ends_no_worker(
    beside: Beside, unique: str, plugin: str, client: str
) -> None:
    name = f"ends-{unique}"
    with listening(body=ENDS_CLIENTS) as broker, beside.unharmed():
        config = {
            "connector.class": plugin, "file": str(beside.folder / "x.txt"), "tasks.max": "1", "topic": f"{name}-rows",
            f"{client}.override.bootstrap.servers": f"127.0.0.1:{broker.port}",
        }  # fmt: skip
        if client == "admin":
            # Topics of rows are created by this client.
            config |= {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
        if plugin == "FileStreamSink":
            config["topics"] = config.pop("topic")
        (beside.folder / "x.txt").write_text("a row\n")
        pid = beside.worker.pid
        beside.validate(config)
        beside.create(name, config)
        assert broker.came.wait(60)
        for part in ("offsets", "topics", "status", "why"):
            beside.worker.call("GET", name, f"/{part}")
        wait_for(lambda: has_ended(beside, name), 60, f"what became of the task, {beside.worker.status(name)}")
        beside.worker.call("PUT", name, "/stop")
        beside.worker.call("DELETE", name, "/offsets")
        beside.delete(name)
        assert beside.worker.pid == pid


def has_ended(beside: Beside, name: str) -> bool:
    """Tell if a task's status or reason to wait says that its process was ended."""
    shown = f"{beside.worker.status(name)} {beside.worker.call('GET', name, '/why').text}"
    return "was ended by signal SIGABRT" in shown
