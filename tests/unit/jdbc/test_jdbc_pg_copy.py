"""Takes a replication stream off the socket: whole messages however it is cut, and what a server may send between
them.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.jdbc.log.postgres.copy import NotPlainError, SocketCopy

BEGUN = b"W" + struct.pack(">I", 7) + b"\0\0\0"


@dataclass
class Connection:
    """As much of libpq's connection as is used."""

    socket: int


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", len(body) + 4) + body


def _data(lsn: int, body: bytes) -> bytes:
    return _message(b"d", b"w" + struct.pack(">QQq", lsn, lsn, 0) + body)


def _pair() -> tuple[socket.socket, socket.socket, SocketCopy]:
    server, client = socket.socketpair()
    return server, client, SocketCopy(Connection(client.fileno()))


def _nothing() -> None:
    """Nobody asks the task to stop."""


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=40), max_size=12), st.data())
def test_messages_come_whole_however_the_stream_is_cut(bodies, data):
    server, client, copy = _pair()
    between = [
        _message(b"N", b"SNOTICE\0\0"),
        _message(b"S", b"a\0b\0"),
        _message(b"d", b"k" + struct.pack(">QQB", 9, 0, 1)),
    ]
    stream, told = b"", 0
    for lsn, body in enumerate(bodies):
        extra = data.draw(st.sampled_from([b"", *between]))
        told += extra == between[2]
        stream += extra + _data(lsn, body)
    ends = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    limit = data.draw(st.integers(1, 5))
    server.sendall(between[0] + BEGUN)
    copy.begin("START", _nothing)
    kept, found = [], []
    for first, last in zip([0, *ends], [*ends, len(stream)], strict=True):
        server.sendall(stream[first:last])
        while copy.more(0.0):
            pass
        while copy.scan(limit, kept.append):
            messages = copy.taken()
            assert len(messages) == limit
            found += [messages.body(i)[: len(bodies[len(found) + i])] for i in range(limit)]
    messages = copy.taken()
    found += [messages.body(i)[: len(bodies[len(found) + i])] for i in range(len(messages))]
    assert found == bodies
    assert len(kept) == told
    assert not bodies or not len(messages) or messages.last_lsn == len(bodies) - 1
    for end in (server, client, copy):
        end.close()


def test_an_error_of_the_server_has_its_state_and_words():
    server, client, copy = _pair()
    server.sendall(_message(b"E", b"SERROR\0C42704\0Mno such publication\0\0"))
    with pytest.raises(psycopg.errors.UndefinedObject, match="no such publication"):
        copy.begin("START", _nothing)
    server.sendall(BEGUN + _data(1, b"x") + _message(b"E", b"C57P01\0Mterminating\0\0"))
    copy.begin("START", _nothing)
    copy.more(0.0)
    with pytest.raises(psycopg.errors.AdminShutdown, match="terminating"):
        copy.scan(10, print)
    server.close()
    with pytest.raises(psycopg.OperationalError, match=r"closed the connection|is lost"):
        copy.more(1.0)
    client.close()
    copy.close()


def test_an_answer_is_one_message_of_the_copy_and_the_copys_end_is_an_error():
    server, client, copy = _pair()
    server.sendall(BEGUN)
    copy.begin("START", _nothing)
    assert server.recv(100) == _message(b"Q", b"START\0")
    copy.send(b"r answer")
    assert server.recv(100) == _message(b"d", b"r answer")
    server.sendall(_message(b"c", b""))
    copy.more(1.0)
    with pytest.raises(psycopg.OperationalError, match="ended it"):
        copy.scan(10, print)
    for end in (server, client, copy):
        end.close()


def test_a_stream_that_is_encrypted_after_all_is_told_from_a_plain_one():
    server, client, copy = _pair()
    server.sendall(b"\0\0\0\x20" + bytes(32))
    with pytest.raises(NotPlainError):
        copy.begin("START", _nothing)
    for end in (server, client, copy):
        end.close()
