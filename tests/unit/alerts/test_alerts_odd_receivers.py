"""Checks receivers that answer oddly: an alert that was taken is sent once, one that was not is sent again, all in
time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from connect.alerts import webhook
from connect.alerts.changes import Event
from connect.alerts.facts import Alert, Kind, Subject
from connect.alerts.webhook import Origin, UndeliveredError, Webhook

EVENT = Event(Alert(Subject(Kind.LAG, "orders"), "behind", 1), is_over=False, at_ms=2, reason="behind")
LIMIT_S = 0.5


@contextmanager
def receiver(*answers: bytes, then_close: bool = True) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends one answer to each connection, whatever it was asked, and what it was asked."""
    listening, asked, over = socket.create_server(("127.0.0.1", 0)), [], threading.Event()

    def serve() -> None:
        for answer in answers:
            try:
                connection, _ = listening.accept()
            except OSError:
                return  # The test is over, and nobody has asked so often.
            with connection:
                asked.append(connection.recv(65_536))
                connection.sendall(answer)
                if not then_close:
                    over.wait(30)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/hook", asked
    finally:
        over.set()
        listening.close()


def deliver(url: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(webhook, "_TIMEOUT_S", LIMIT_S)
    hook = Webhook(url, "json", None, Origin("c", ""))
    try:
        hook.deliver(EVENT)
    finally:
        hook.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbroken",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\nno zip",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut",
    ],
    ids=["ok", "empty", "large", "broken chunks", "no gzip", "cut"],
)
def test_what_a_receiver_has_taken_is_taken_whatever_its_answer_holds(answer, monkeypatch):
    with receiver(answer) as (url, asked):
        deliver(url, monkeypatch)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("answer", "said", "is_final"),
    [
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "HTTP 500", False),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n", "HTTP 302", False),
        (b"HTTP/1.1 307 Go\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", "HTTP 307", False),
        (b"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n", "HTTP 413", True),
        (b"", "without response", False),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP", False),
        (b"HTTP/1.1 999999 Odd\r\n\r\n", "does not speak HTTP", False),
    ],
    ids=["500", "redirect", "redirect of POST", "too large", "closes", "another protocol", "no status"],
)
def test_what_no_receiver_has_taken_is_not_taken_and_no_other_address_is_asked(answer, said, is_final, monkeypatch):
    with receiver(answer, answer) as (url, asked), pytest.raises(UndeliveredError, match=said) as failed:
        deliver(url, monkeypatch)
    assert failed.value.is_final is is_final
    assert len(asked) == 1


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nX: "], ids=["silent", "in the middle of its head"])
def test_a_receiver_that_is_slow_is_given_up_in_time(answer, monkeypatch):
    with receiver(answer, then_close=False) as (url, asked), pytest.raises(UndeliveredError):
        deliver(url, monkeypatch)
    assert len(asked) == 1
