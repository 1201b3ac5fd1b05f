"""The doctor opens a connection to each server that a connector names, and sends nothing but a handshake of TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from doctor_faults import SINK, SOUND

from connect.doctor.examination import examined
from connect.doctor.gathering import target_facts as target_facts_module
from connect.doctor.gathering.target_facts import target_facts
from connect.doctor.model.facts import TargetFacts
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog

CASSANDRA = {"connector.class": "CassandraSinkConnector", "topics": "t", "keyspace": "k"}
DEBEZIUM = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "database.user": "u",
    "database.password": "p", "database.dbname": "d", "topic.prefix": "p", "database.port": "1",
}  # fmt: skip
AVRO = {
    "connector.class": "FileStreamSinkConnector", "topics": "t", "file": "/x",
    "value.converter": "io.confluent.connect.avro.AvroConverter",
}  # fmt: skip
REGISTRY = "value.converter.schema.registry.url"


def _http(url: str, **keys: str) -> dict[str, str]:
    given = {key.replace("_", "."): value for key, value in keys.items()}
    return {
        "connector.class": "io.confluent.connect.http.HttpSinkConnector",
        "topics": "t",
        "http.api.url": url,
    } | given


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.installed()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def _told(catalog: Catalog, config: dict[str, str], **worker: str) -> list[tuple[str, str, str]]:
    own = {key.replace("_", "."): value for key, value in worker.items()}
    found, late = target_facts(catalog, {"c": config}, own, Deadline.after(20))
    assert late == 0
    return [(one.key, one.address, one.trouble) for one in found]


@contextmanager
def _listening() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the address of a server that listens, and what it was sent."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(10)
                sent.append(connection.recv(1000))

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield f"127.0.0.1:{server.getsockname()[1]}", sent
        serving.join(10)


REFUSED = "Connection refused"
AWAY: list[tuple[dict[str, str], list[tuple[str, str, str]]]] = [
    (_http("http://127.0.0.1:9/x"), [("http.api.url", "127.0.0.1:9", REFUSED)]),
    (_http("http://nobody.invalid/x"), [("http.api.url", "nobody.invalid:80", "Name or service not known")]),
    (_http("https://a..b/x"), [("http.api.url", "a..b:443", "")]),
    ({"connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "topics": "t",
      "connection.url": "http://127.0.0.1:9,http://127.0.0.1:10"},
     [("connection.url", "127.0.0.1:9", REFUSED), ("connection.url", "127.0.0.1:10", REFUSED)]),
    ({"connector.class": "com.redis.kafka.connect.RedisSinkConnector", "topics": "t", "redis.host": "127.0.0.1",
      "redis.port": "9"}, [("redis.host", "127.0.0.1:9", REFUSED)]),
    ({"connector.class": "com.redis.kafka.connect.RedisSinkConnector", "topics": "t",
      "redis.uri": "redis://me:hidden-word@127.0.0.1:9/0"}, [("redis.uri", "127.0.0.1:9", REFUSED)]),
    ({"connector.class": "S3SinkConnector", "topics": "t", "s3.bucket.name": "b", "flush.size": "1",
      "store.url": "http://127.0.0.1:9", "format.class": "io.confluent.connect.s3.format.json.JsonFormat"},
     [("store.url", "127.0.0.1:9", REFUSED)]),
    ({"connector.class": "JdbcSinkConnector", "topics": "t", "connection.url": "jdbc:postgresql://127.0.0.1:9/x"},
     [("connection.url", "127.0.0.1:9", REFUSED)]),
    (CASSANDRA | {"contact.points": "127.0.0.1,[::1]", "port": "9"},
     [("contact.points", "127.0.0.1:9", REFUSED), ("contact.points", "[::1]:9", REFUSED)]),
    (DEBEZIUM | {"database.hostname": "127.0.0.1"}, [("database.hostname", "127.0.0.1:1", REFUSED)]),
    ({"connector.class": "MirrorSourceConnector", "source.cluster.bootstrap.servers": "127.0.0.1:9"},
     [("source.cluster.bootstrap.servers", "127.0.0.1:9", REFUSED)]),
    (AVRO | {REGISTRY: "http://127.0.0.1:9", "value.converter.basic.auth.user.info": "${file:/x:y}"},
     [(REGISTRY, "127.0.0.1:9", REFUSED)]),
    ({"connector.class": "FileStreamSinkConnector", "topics": "t", "file": "/x",
      "consumer.override.bootstrap.servers": "127.0.0.1:9"},
     [("consumer.override.bootstrap.servers", "127.0.0.1:9", REFUSED)]),
    (_http("http://api.invalid/x", http_proxy_host="127.0.0.1", http_proxy_port="9"),
     [("http.proxy.host", "127.0.0.1:9", REFUSED)]),
]  # fmt: skip


@pytest.mark.parametrize(("config", "expected"), AWAY, ids=[expected[0][0] for _, expected in AWAY])
def test_a_server_that_nobody_reaches_is_told_with_its_port(
    catalog: Catalog, config: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    told = _told(catalog, config)
    assert [one[:2] for one in told] == [one[:2] for one in expected]
    assert all(found and found.startswith(wanted) for (*_, found), (*_, wanted) in zip(told, expected, strict=True)), (
        told
    )


def test_a_server_that_listens_is_sent_nothing(catalog: Catalog) -> None:
    with _listening() as (address, sent):
        assert _told(catalog, _http(f"http://{address}/x")) == [("http.api.url", address, "")]
    assert sent == [b""]


def test_a_server_that_takes_no_connection_is_given_up(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_facts_module, "CONNECT_S", 0.4)
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        host, port = full.getsockname()
        for _ in range(3):  # the kernel keeps one or two more than the server asked for, and then answers nobody
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex((host, port))
        told = _told(catalog, _http(f"http://127.0.0.1:{port}/x"))
    assert told == [("http.api.url", f"127.0.0.1:{port}", "no connection within 0.4 s")]


@pytest.mark.parametrize(
    ("config", "worker"),
    [
        (_http("http://127.0.0.1:9/x"), {"security_profile": "strict"}),
        (_http("http://127.0.0.1:9/x"), {"allowed_hosts": "10.0.0.0/8"}),
        (_http("http://${env:HOST}:9/x"), {}),
        (AVRO | {REGISTRY: "http://127.0.0.1:9"}, {}),
        (_http("no url at all"), {}),
        (DEBEZIUM | {"producer.override.bootstrap.servers": "PLAINTEXT://[::1:9092"}, {}),
    ],
    ids=["strict", "not allowed", "of a provider", "a registry is asked for more", "broken", "no address"],
)
def test_what_may_not_or_cannot_be_asked_is_left_out(
    catalog: Catalog, config: dict[str, str], worker: dict[str, str]
) -> None:
    assert _told(catalog, config, **worker) == []


def test_an_allowed_server_is_asked(catalog: Catalog) -> None:
    told = _told(catalog, CASSANDRA | {"contact.points": "127.0.0.1", "port": "9"}, allowed_hosts="127.0.0.0/8")
    assert told == [("contact.points", "127.0.0.1:9", REFUSED)]


def test_a_proxy_of_the_environment_leads_to_other_hosts(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert _told(catalog, _http("http://api.invalid/x")) == []


def test_many_servers_that_do_not_answer_are_counted_when_the_time_is_over(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def connect(*_: object, **__: object) -> socket.socket:
        gate.wait(20)
        raise ConnectionRefusedError(111, REFUSED)

    monkeypatch.setattr(socket, "create_connection", connect)
    configs = {f"c{number}": _http(f"http://127.0.0.1:{1000 + number}/x") for number in range(100)}
    found, late = target_facts(catalog, configs, {}, Deadline.after(0.3))
    gate.set()
    assert (found, late) == ([], 100)


def test_the_end_of_a_targets_certificate_is_known(catalog: Catalog) -> None:
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=6)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1", not_after=ends).configure_cert(context)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            server.accept()[0].close()  # it asks if somebody listens
            connection, _ = server.accept()
            context.wrap_socket(connection, server_side=True).close()

        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        found, _ = target_facts(catalog, {"c": _http(f"https://{address}/x")}, {}, Deadline.after(20))
    assert found == [TargetFacts("c", "http.api.url", address, "", ends)]


def _severities(
    *targets: TargetFacts, is_running: bool = True, errors: dict[str, list[str]] | None = None
) -> list[str]:
    sink = replace(SINK, errors=errors or {})
    facts = replace(SOUND, targets=targets, is_running=is_running, connectors=[sink])
    return [one.severity.value for one in examined(facts) if one.name == "target-unreachable"]


@pytest.mark.quick
def test_it_is_an_error_where_the_worker_itself_gets_to_none_of_a_keys_servers() -> None:
    away, there = TargetFacts("late", "url", "a:1", "refused"), TargetFacts("late", "url", "b:1")
    assert _severities(away) == ["error"]
    assert _severities(away, is_running=False) == ["warning"]
    assert _severities(away, there) == ["warning"]
    assert _severities(there) == []
    assert _severities(away, errors={"url": ["Connection refused"]}) == []
