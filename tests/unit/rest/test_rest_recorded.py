"""Sends a request again that a worker signed and somebody recorded: changed, late, elsewhere or once more it does not
count.
"""

from __future__ import annotations

import re
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from memory_cluster import Cluster, MemoryOperations
from rest_client import FILE_SOURCE, ServerMaker

from connect.rest.access.worker_signatures import DIGEST, SIGNATURE, STAMP, WINDOW_S, Stamps, Verdict
from connect.tools.services.process.ports import free_ports

CLIENT, THIEF = "127.0.0.2", "127.0.0.1"
BODY = f'{{"connector.class":"{FILE_SOURCE}","topic":"t"}}'.encode()
RANDOM = "0" * 32


class Theft:
    """A leader, and what its follower signed for it, which never came there."""

    def __init__(self, serve: ServerMaker) -> None:
        self.cluster, self.port = Cluster(), free_ports(1)[0]
        with socket.create_server((THIEF, 0)) as way, ThreadPoolExecutor(1) as client:
            advertised = {"rest.advertised.port": str(way.getsockname()[1])}
            self.leader = serve(
                MemoryOperations(self.cluster), worker={"listeners": f"http://{THIEF}:{self.port}", **advertised}
            )
            follower = serve(MemoryOperations(self.cluster, leads=False))
            self.cluster.leader_url = self.leader.url
            asked = client.submit(_ask, int(follower.url.rpartition(":")[2]))
            with way.accept()[0] as connection:
                self.request = b""
                while BODY not in self.request:
                    self.request += connection.recv(65536)
                way.close()  # a client asks again what was broken off
            assert asked.result(30) == 500, "the leader has not answered"

    def send(self, request: bytes, port: int = 0) -> int:
        """Send a request as it stands, and return the status of the answer."""
        with socket.create_connection((THIEF, port or self.port), 30) as connection:
            connection.sendall(request)
            return int(connection.recv(65536).split()[1])

    def authors(self, name: str = "a") -> list[str]:
        """The addresses that the history tells of."""
        versions = self.cluster.versions.get(name, [])
        return [version.author.who.partition(" ")[0] for version in versions if version.author]


def _ask(port: int) -> int:
    head = "PUT /connectors/a/config HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection((THIEF, port), 30, (CLIENT, 0)) as connection:
        connection.sendall(f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
        return int(connection.recv(65536).split()[1])


@pytest.fixture
def theft(serve: ServerMaker) -> Theft:
    return Theft(serve)


def test_a_request_that_was_held_up_on_its_way_counts_and_its_copies_do_not(theft: Theft) -> None:
    assert theft.send(theft.request) == 201
    assert [theft.send(theft.request) for _ in range(3)] == [403] * 3
    assert theft.authors() == [CLIENT]


CHANGES = {
    "method": (b"PUT /connectors/a/config?", b"PATCH /connectors/a/config?"),
    "path": (b"/connectors/a/config?", b"/connectors/b/config?"),
    "query": (b"forward=true", b"forward=false"),
    "further query": (b"forward=true", b"forward=true&dry_run=false"),
    "client": (b"127.0.0.2", b"127.0.0.3"),
    "digest": (b"sha-256=:", b"sha-256=:A"),
    "moment": (b"Stamp: 1", b"Stamp: 2"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_request_is_one_of_whoever_sends_it(theft: Theft, change: str) -> None:
    before, after = CHANGES[change]
    assert theft.request.count(before) == 1, theft.request
    theft.send(theft.request.replace(before, after))
    assert theft.authors() + theft.authors("b") in ([THIEF], [])
    assert theft.send(theft.request) in (200, 201), "it has not come before"
    assert theft.authors()[-1] == CLIENT


def test_another_body_is_refused(theft: Theft) -> None:
    assert theft.send(theft.request.replace(b'"topic":"t"', b'"topic":"x"')) == 403
    assert theft.authors() == []


def test_a_body_without_its_digest_is_one_of_whoever_sends_it(theft: Theft) -> None:
    theft.send(re.sub(rf"{DIGEST}: [^\r]*\r\n".encode(), b"", theft.request))
    assert theft.authors() == [THIEF]


def test_what_is_signed_for_one_worker_counts_at_no_other(theft: Theft, serve: ServerMaker) -> None:
    other = serve(MemoryOperations(theft.cluster))
    assert theft.send(theft.request, int(other.url.rpartition(":")[2])) == 201
    assert theft.authors() == [THIEF]


@pytest.mark.parametrize("header", [SIGNATURE, STAMP, DIGEST, "X-Forwarded-For"])
def test_bytes_that_are_no_text_sign_nothing(theft: Theft, header: str) -> None:
    broken = re.sub(rf"{header}: [^\r]*".encode(), header.encode() + b": \xff\xfe", theft.request)
    assert broken != theft.request
    assert theft.send(broken) == 201
    assert theft.authors() == [THIEF]


class Clock:
    now_s = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_stamp_counts_once_within_its_window() -> None:
    clock = Clock()
    stamps = Stamps(clock)
    at = [f"{int(clock.now_s + ahead_s)}.{number:032x}" for number, ahead_s in enumerate((0, WINDOW_S, WINDOW_S + 1))]
    assert [stamps.take(stamp) for stamp in at] == [Verdict.RIGHT, Verdict.RIGHT, Verdict.OLD]
    clock.now_s += WINDOW_S
    assert [stamps.take(stamp) for stamp in at] == [Verdict.SEEN, Verdict.SEEN, Verdict.RIGHT]
    clock.now_s += 1
    assert stamps.take(at[0]) is Verdict.OLD
    clock.now_s += WINDOW_S - 1
    assert stamps.take(at[1]) is Verdict.SEEN
    clock.now_s += 2
    assert stamps.take(at[1]) is Verdict.OLD


def test_what_was_signed_before_a_worker_began_does_not_count() -> None:
    clock = Clock()
    stamp = f"{int(clock.now_s)}.{RANDOM}"
    assert Stamps(clock).take(stamp) is Verdict.RIGHT
    clock.now_s += 1
    assert Stamps(clock).take(stamp) is Verdict.OLD


@pytest.mark.parametrize("stamp", ["", "1700000000", f"1700000000.{RANDOM}0", f"x.{RANDOM}", f"-1.{RANDOM}"])
def test_a_stamp_of_another_form_does_not_count(stamp: str) -> None:
    assert Stamps(Clock()).take(stamp) is Verdict.OLD
