"""Requests that are made to cost much are refused or ended, and the server answers others meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests
from memory_cluster import MemoryOperations
from rest_client import FILE_SOURCE, Rest, ServerMaker, refused
from sample_plugins import catalog, worker_config

from connect.plugins.catalog import Catalog
from connect.rest.app import rest_app
from connect.rest.rest_server import HttpThread
from connect.rest.server import request_body
from connect.rest.server.connections import ConnectionTimeouts
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import BACKLOG, bind

ANSWER_S = 60
"""For an answer that comes at once: the machine may be busy with other tests."""
CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}
JSON = {"Content-Type": "application/json"}
BODY = json.dumps({"name": "a", "config": CONFIG}).encode()


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "exotic", "gzip, gzip", "gzip,br"])
def test_an_encoding_that_is_not_known_is_415(rest: Rest, encoding: str) -> None:
    answer = rest("POST", "/connectors", data=BODY, headers={"Content-Encoding": encoding})
    assert "send identity, gzip or deflate" in refused(answer, 415)
    assert rest.get("/connectors") == []


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [("identity", bytes), ("", bytes), ("gzip", gzip.compress), ("GZIP", gzip.compress), ("deflate", zlib.compress)],
)
def test_known_encodings_are_read(rest: Rest, encoding: str, encode: Callable[[bytes], bytes]) -> None:
    answer = rest("POST", "/connectors", data=encode(BODY), headers={"Content-Encoding": encoding})
    assert (answer.status_code, rest.get("/connectors")) == (201, ["a"])


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (lambda: gzip.compress(b" " * (1 << 28), 1), 413), (lambda: gzip.compress(BODY)[:-9], 400),
        (lambda: b"no gzip", 400), (lambda: b"", 400), (lambda: gzip.compress(b" " * (1 << 20) + b"x"), 413),
    ],
    ids=["bomb", "torn", "none", "empty", "one too many"],
)  # fmt: skip
def test_what_is_compressed_wrongly_or_too_well_is_refused(rest: Rest, data: Callable[[], bytes], status: int) -> None:
    refused(rest("POST", "/connectors", data=data(), headers={"Content-Encoding": "gzip"}), status)


@pytest.mark.parametrize("body", ["[" * 200_000, '{"a":' * 100_000, '{"config":' + "[" * 101 + "]" * 101 + "}"])
@pytest.mark.parametrize("path", ["/connectors", "/backfills", "/poc"])
def test_what_is_nested_too_deep_is_400(rest: Rest, path: str, body: str) -> None:
    assert "nesting depth" in refused(rest("POST", path, data=body), 400)


@pytest.mark.parametrize("path", ["/backfills", "/poc"])
@pytest.mark.parametrize("body", ["{bad", '{"name":', "x", '{"a":NaN}', b"\xff", '{"a":"\\ud800"}'])
def test_resources_that_java_lacks_answer_400_to_what_is_no_json(rest: Rest, path: str, body: str | bytes) -> None:
    refused(rest("POST", path, data=body), 400)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({f"k{number}": "x" for number in range(5001)}, "has 5003 keys. At most 5000"),
        ({"x" * 1001: "x"}, "has 1001 characters. At most 1000"),
        ({"topic": "x" * (256 * 1024 + 1)}, "The value of topic has 262145 characters. At most 262144"),
        ({"topic": "x" * 200_000, "file": "x" * 100_000}, "The configuration has 3000"),
        ({"transforms": "a," * 1000}, "transforms lists 1001 aliases. At most 200"),
    ],
)
def test_a_configuration_has_an_end(rest: Rest, config: dict[str, str], said: str) -> None:
    given = {**CONFIG, **config}
    for method, path, body in (
        ("POST", "/connectors", {"name": "a", "config": given}),
        ("PUT", "/connectors/a/config", given),
        ("PUT", "/connector-plugins/FileStreamSource/config/validate", given),
    ):
        assert said in refused(rest(method, path, body), 400)
    rest.create("a")
    assert said in refused(rest("PATCH", "/connectors/a/config", config), 400) or "keys" in said


def test_a_body_has_so_many_values_and_commas_of_texts_are_none(rest: Rest) -> None:
    many = [{"partition": {"p": "x"}, "offset": {"o": n}} for n in range(20_000)]
    told = refused(rest("PATCH", "/connectors/a/offsets", {"offsets": many}), 400)
    assert told == "The body has 39999 values. At most 30000 are taken: send them in several."
    assert rest("POST", "/connectors", {"name": "a", "config": CONFIG | {"x": '",\\"' * 40_000}}).status_code == 201


def test_a_name_of_8_kb_is_400(rest: Rest) -> None:
    name = "n" * 8192
    assert "has 8192 characters. At most 500" in refused(rest("POST", "/connectors", {"name": name, "config": {}}), 400)
    for step in (".", ".."):  # no client could name it in an address
        said = refused(rest("POST", "/connectors", {"name": step, "config": {}}), 400)
        assert f"cannot be named '{step}'" in said
    assert rest("PUT", f"/connectors/{name}/config", CONFIG).status_code == 400
    refused(rest("PUT", f"/connectors/{'n' * 501}/config", CONFIG), 400)
    assert rest("PUT", f"/connectors/{'n' * 500}/config", CONFIG).status_code == 201
    for method in ("GET", "DELETE"):
        assert rest(method, f"/connectors/{name}").status_code == 400


def test_a_long_name_that_java_gave_stays(rest: Rest) -> None:
    name = "n" * 501
    rest.operations.connectors.save(name, CONFIG).result()
    assert rest("PUT", f"/connectors/{name}/config", {**CONFIG, "file": "f"}).status_code == 200


@contextmanager
def asked_meanwhile(rest: Rest) -> Iterator[list[float]]:
    """The seconds that each of many small requests took."""
    took: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with requests.Session() as session:
            while not over.wait(0.02):
                began_s = time.monotonic()
                assert session.get(f"{rest.url}/health", timeout=30).status_code == 200
                took.append(time.monotonic() - began_s)

    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(ask)
        try:
            yield took
        finally:
            over.set()
            asking.result()


@pytest.mark.parametrize("piece", ["a", "${a:", "password=a;", "://", "x:y@z,", '{"token":"'])
def test_a_long_value_holds_up_nobody(serve: ServerMaker, hosted: MemoryOperations, piece: str) -> None:
    rest = serve(hosted, plugins=Catalog.installed(), check_timeout_s=60)
    value = piece * (85_000 // len(piece))
    config = {
        "connector.class": "JdbcSource",
        "name": "j",
        "topic.prefix": value,
        "what.else": value,
        "x.password": value,
    }
    with asked_meanwhile(rest) as took:
        answer = rest("PUT", "/connector-plugins/JdbcSource/config/validate", config)
        assert answer.status_code == 200
        refused(rest("POST", "/connectors", {"name": "j", "config": config}), 400)
    assert took
    others = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert max(took) < 3 * others, f"{max(took):.1f} s, on a machine that {others:.1f} wanted of each core"


@pytest.fixture
def small() -> Iterator[tuple[HttpThread, int]]:
    """A server with few connections and little patience, and its port."""
    settings = worker_config(listeners="http://127.0.0.1:0")
    bound = bind(settings)
    context = RestContext(MemoryOperations(), catalog(), settings)
    server = HttpThread(rest_app(context), bound, None, 5, ConnectionTimeouts(head_s=0.3, take_s=0.3))
    server.start()
    yield server, bound.ports[0]
    server.stop()


def opened(stack: ExitStack, port: int) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S))


def answers(port: int) -> bool:
    return requests.get(f"http://127.0.0.1:{port}/connectors", timeout=ANSWER_S).status_code == 200


def ended(client: socket.socket) -> bool:
    """The server has ended it: waits for that."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("said", [b"", b"GET /connectors HTT", b"GET /connectors HTTP/1.1\r\nX-A: b\r\n"])
def test_a_head_that_does_not_come_ends_the_connection(small: tuple[HttpThread, int], said: bytes) -> None:
    with ExitStack() as stack:
        client = opened(stack, small[1])
        client.sendall(said)
        assert ended(client)


def test_a_second_request_has_to_come_whole_too_and_may_come_late(small: tuple[HttpThread, int]) -> None:
    with ExitStack() as stack:
        client = opened(stack, small[1])
        for _ in range(2):
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"healthy" in client.recv(4096)
            threading.Event().wait(0.5)  # longer than a head may take
        client.sendall(b"GET /health HT")
        assert ended(client)


def test_many_connections_that_say_nothing_keep_nobody_out(serve: ServerMaker) -> None:
    settings = worker_config(listeners="http://127.0.0.1:0")
    bound = bind(settings)
    server = HttpThread(rest_app(RestContext(MemoryOperations(), catalog(), settings)), bound, None, 5)
    server.start()
    try:
        with ExitStack() as stack:
            idle = [opened(stack, bound.ports[0]) for _ in range(20)]
            idle[-1].sendall(
                b"POST /connectors HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
            )
            assert all(answers(bound.ports[0]) for _ in range(10))
            assert ended(idle[0])
    finally:
        server.stop()


def test_very_many_connections_find_room_at_once() -> None:
    bound = bind(worker_config(listeners="http://127.0.0.1:0"))
    server = HttpThread(rest_app(RestContext(MemoryOperations(), catalog(), worker_config())), bound, None, 5)
    server.start()
    try:
        told = bound.main[0].bound.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    finally:
        server.stop()
    # What waits to be taken and how many may, of a socket that listens (tcpi_sacked of tcp(7)).
    (most,) = struct.unpack_from("I", told, 28)
    assert most == min(BACKLOG, int(Path("/proc/sys/net/core/somaxconn").read_text()))


def test_a_client_that_takes_no_answer_is_ended(small: tuple[HttpThread, int]) -> None:
    with ExitStack() as stack:
        client = opened(stack, small[1])
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.sendall(ask * 1_000_000)


def test_a_body_that_does_not_come_is_408(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "ARRIVE_S", 0.2)
    with socket.create_connection(("127.0.0.1", int(rest.url.rpartition(":")[2])), timeout=20) as client:
        client.sendall(
            b"POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        )
        assert client.recv(4096).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("options", "said"),
    [({"duration_s": 1e9}, "duration_s"), ({"sample_rows": 10**9}, "sample_rows"), ({"crashes": 10**6}, "crashes")],
)
def test_an_evaluation_has_an_end(rest: Rest, options: dict[str, float], said: str) -> None:
    body = {"connectors": [{"name": "c", "config": {}}], "options": options}
    assert f"Option {said} is larger than" in refused(rest("POST", "/poc", body), 400)


def test_an_evaluation_is_of_two_connectors_at_most_and_of_bounded_ones(rest: Rest) -> None:
    one = {"name": "c", "config": {}}
    assert "a source and a sink at most" in refused(rest("POST", "/poc", {"connectors": [one] * 3}), 400)
    assert "At most 262144" in refused(
        rest("POST", "/poc", {"connectors": [one | {"config": {"a": "x" * 300_000}}]}), 400
    )
