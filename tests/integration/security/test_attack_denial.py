"""Sends requests that are large, deep, slow, many or broken: each is the client's fault, and others are served."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import zlib

import pytest
import requests
from attacked import Target

SOURCE = {"connector.class": "FileStreamSource", "topic": "x"}
VALUE_CHARACTERS = 250_000


def _post(target: Target, body: bytes | str, **headers: str) -> int:
    sent = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    data = body.encode() if isinstance(body, str) else body
    return requests.post(f"{target.url}/connectors", data=data, headers=sent, timeout=30).status_code


def _raw(target: Target, request: bytes) -> bytes:
    """The first bytes of the answer to a request as it is; none when the worker hung up."""
    with socket.create_connection(("127.0.0.1", int(target.url.rpartition(":")[2])), 10) as client:
        try:
            client.sendall(request)
            return client.recv(100)
        except OSError:
            return b""


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("[" * 500_000, 400),
        ('{"a":' * 150_000, 400),
        ('{"name":"a","config":' + "[" * 400_000 + "]" * 400_000 + "}", 400),
        ('{"name":"a","config":{"x":' + "9" * 900_000 + "}}", 400),
        ('{"name":"a","config":{"x":1e999999999}}', 400),
        ('{"name":"a\\u0000b","config":{"connector.class":"FileStreamSource","topic":"x"}}', 400),
        (json.dumps({"name": "n" * 8000, "config": SOURCE}), 400),
        (json.dumps({"name": "n", "config": {**SOURCE, **{f"k{i}.password": "x" for i in range(5000)}}}), 400),
        (json.dumps({"name": "n", "config": {**SOURCE, "transforms": ",".join(map(str, range(30_000)))}}), 400),
        (json.dumps({"name": "n", "config": {**SOURCE, "predicates": ",".join(map(str, range(30_000)))}}), 400),
        ("x" * 10_000_000, 413),
    ],
    ids=["deep list", "deep object", "deep closed", "digits", "exponent", "nul", "name", "keys", "transforms",
         "predicates", "ten megabytes"],
)  # fmt: skip
def test_a_body_that_is_too_much(target: Target, body: str, status: int) -> None:
    with target.answering():
        assert _post(target, body) == status


def test_compressed_bodies_that_grow_too_large_are_refused(target: Target) -> None:
    bomb = gzip.compress(b" " * 100_000_000, 1)
    with target.answering():
        assert _post(target, bomb, Content_Encoding="gzip") == 413
        assert _post(target, zlib.compress(b" " * 50_000_000, 1), Content_Encoding="deflate") == 413
        assert _post(target, gzip.compress(bomb), Content_Encoding="gzip, gzip") == 415
        assert _post(target, b"x", Content_Encoding="br") == 415
        assert _post(target, b"x", Content_Encoding="gzip") == 400


@pytest.mark.parametrize("key", ["topic", "x.token"])
def test_values_that_are_slow_to_search_for_secrets(target: Target, key: str) -> None:
    parts = (
        "a",
        "password=",
        "u:p@",
        "://",
        "{",
        '"',
        "${file:",
        "-----BEGIN ",
        "a=b;",
        "\\",
        "http://a:",
        '{"a":',
        "é",
    )
    with target.answering():
        for part in parts:
            value = part * (VALUE_CHARACTERS // len(part) // 4)
            assert target.validate({**SOURCE, key: value}) is not None


def test_a_pattern_that_takes_for_ever_is_given_up(target: Target) -> None:
    """The match of a dead letter topic with topics.regex held all threads of a worker."""
    config = {"connector.class": "FileStreamSink", "topics.regex": "(a|aa)+b"}
    with target.answering():
        told = target.validate({**config, "errors.deadletterqueue.topic.name": "a" * 60})
    assert any("The regular expression (a|aa)+b was given up after 1 s on 'aaaa" in error for error in told), told
    told = target.validate({**config, "errors.deadletterqueue.topic.name": "aab"})
    assert any("The DLQ topic 'aab' may not be matched by the regex" in error for error in told), told


@pytest.mark.parametrize("regex", ["[" * 250_000, "[\\w-" * 60_000, r"\x{FFFFFFFFFF}"], ids=["deep", "classes", "code"])
def test_a_pattern_that_python_cannot_read_is_the_clients_fault(target: Target, regex: str) -> None:
    with target.answering():
        told = target.validate({"connector.class": "FileStreamSink", "topics.regex": regex})
    assert any(error.startswith("Invalid value") for error in told), told


def test_a_version_of_many_digits_is_another_one(target: Target) -> None:
    with target.answering():
        told = target.validate({**SOURCE, "connector.plugin.version": "9" * 100_000})
    assert any("not found that matches the version range" in error for error in told), told


def test_broken_heads_of_requests_are_refused_and_others_answered(target: Target) -> None:
    head = b"POST /connectors HTTP/1.1\r\nHost: localhost\r\n"
    with target.answering():
        for rest in (
            b"Content-Length: -5\r\n\r\n", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", b"A: b\r\n" * 100_000 + b"\r\n",
            b"A: " + b"b" * 3_000_000 + b"\r\n\r\n",
        ):  # fmt: skip
            assert _raw(target, head + rest)[8:13] in (b"", b" 400 ")
        assert _raw(target, b"GET /" + b"b" * 3_000_000)[8:13] in (b"", b" 400 ")
        assert _raw(target, b"\x16\x03\x01\x02\x00\x01\x00" * 100)[8:13] in (b"", b" 400 ")


@pytest.mark.parametrize(
    "path",
    ["/..%2f..%2fetc%2fpasswd", "/poc/..%2f..%2f..%2fetc%2fpasswd/report", "/backfills/..%2f..%2fx", "//etc/passwd",
     "/connector-plugins/os.system/config", "/%00", "/connectors/%ff/status", "/connectors/a%0d%0aX:1/status"],
)  # fmt: skip
def test_paths_that_lead_elsewhere(target: Target, path: str) -> None:
    answer = _raw(target, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer[8:13] in (b" 404 ", b" 400 ")
    assert b"\nX:1" not in answer


@pytest.mark.parametrize(
    "part", ["", "GET / HTTP/1.1\r\nHost: ", "POST /connectors HTTP/1.1\r\nContent-Length: 99\r\n"]
)
def test_connections_that_say_little(target: Target, part: str) -> None:
    port = int(target.url.rpartition(":")[2])

    clients = []
    with target.answering():
        for _ in range(8):  # more than rest.connections.max, and no more at a time than a listener's queue holds
            for _ in range(40):
                client = socket.create_connection(("127.0.0.1", port), 10)
                client.sendall(part.encode())
                clients.append(client)
            assert requests.get(target.url, timeout=5).status_code == 200
        for client in clients:
            client.close()


def test_databases_that_say_nothing_keep_no_other_check_waiting(target: Target) -> None:
    """Dozens of configurations name a server that takes connections and is silent; another client's is checked."""
    port = int(target.url.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        tarpit = {
            "connector.class": "JdbcSourceConnector", "mode": "bulk", "topic.prefix": "p", "query": "SELECT 1",
            "connection.url": f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d",
        }  # fmt: skip
        stuck = [threading.Thread(target=_checked, args=(port, tarpit, "127.0.0.1")) for _ in range(40)]
        with target.answering():
            for thread in stuck:
                thread.start()
            with silent.accept()[0]:  # the first of them is at work
                config = {"connector.class": "CassandraDedupConnector", "topics": "a-x", "input.prefix": "a-"}
                told = _checked(port, config, "127.0.0.2")
                assert any(thread.is_alive() for thread in stuck), "they all had to end first"
            silent.close()
            for thread in stuck:
                thread.join(120)
    assert json.loads(told)["error_count"] == 0


def _checked(port: int, config: dict[str, str], source: str) -> bytes:
    """Ask for a validation from an address of this machine."""
    client = http.client.HTTPConnection("127.0.0.1", port, 120, (source, 0))
    body, path = json.dumps({"name": "v", **config}), f"/connector-plugins/{config['connector.class']}/config/validate"
    client.request("PUT", path, body, {"Content-Type": "application/json"})
    return client.getresponse().read()
