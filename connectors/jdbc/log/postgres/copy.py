"""Takes the messages of a replication connection: from its socket if nothing encrypts it, else through libpq.

libpq makes an object of each message. From the socket the messages stay in one buffer, and only their places are noted.
Source: PostgreSQL's documentation, "Message Formats" and "Streaming Replication Protocol".
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import psycopg
from psycopg import pq

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline
from connectors.jdbc.log.postgres.pgoutput import Messages
from connectors.jdbc.log.shared.cells import BYTES_AT_MOST

_DATA, _KEEPALIVE = ord("w"), ord("k")
_COPY_DATA, _COPY_BOTH, _ERROR = ord("d"), ord("W"), ord("E")
_ASIDE = frozenset(b"NSA")
"""The kinds of messages that the server sends at any time: a notice, a setting that changed, a notification."""
_SIZE: Final = struct.Struct(">I")
_READ_BYTES = 1 << 18
_SEND_S = 10.0
_SLICE_S = 0.1
_LEAVES_S = 5.0
Keepalive = Callable[[bytes], None]


class CopyStream(Protocol):
    """Keeps the messages that come until they are taken."""

    backlog: bool
    """True if much came at once, so that there is no need to wait for more."""

    def begin(self, command: str, check: Callable[[], None]) -> None:
        """Send the command that begins the stream; `check` is called while the answer is waited for."""

    def scan(self, limit: int, keepalive: Keepalive) -> bool:
        """Find the messages that have come, up to `limit`; return True if the chunk is full."""

    def more(self, wait_s: float) -> bool:
        """Receive from the network; return False if nothing came within `wait_s`. psycopg.Error: the connection is
        lost.
        """

    def is_empty(self) -> bool:
        """Return True if no message was found yet."""

    def taken(self) -> Messages:
        """Return the messages that were found in this chunk, and begin the next one."""

    def send(self, content: bytes) -> None:
        """Answer the server."""

    def close(self) -> None:
        """Close the stream. It has to be closed before libpq's connection."""


def copy_stream(pgconn: Any, *, raw: bool) -> CopyStream:
    """Return a stream that reads this connection. With `raw` it reads from the socket, if that is not encrypted."""
    return SocketCopy(pgconn) if raw and not pgconn.ssl_in_use and not pgconn.used_gssapi else LibpqCopy(pgconn)


class NotPlainError(Exception):
    """Says that the bytes from the socket are not PostgreSQL's protocol: something encrypts them (GSSAPI)."""


class SocketCopy:
    """Reads the messages from the socket. libpq has read no part of the stream, as it was idle before; it only closes
    the connection at the end.
    """

    def __init__(self, pgconn: Any) -> None:
        self._socket = socket.socket(fileno=os.dup(pgconn.socket))
        self._socket.setblocking(False)
        self._room = memoryview(bytearray(_READ_BYTES))
        self._buffer = bytearray()
        self._at = 0
        self._starts: list[int] = []
        self.backlog = False

    def begin(self, command: str, check: Callable[[], None]) -> None:
        """Send the command. NotPlainError: the connection is encrypted after all."""
        self._send(b"Q", command.encode() + b"\0")
        while True:
            head = bytes(self._buffer[:5])
            size = _SIZE.unpack_from(head, 1)[0] + 1 if len(head) == 5 else 5
            if head and head[0] not in _ASIDE | {_COPY_BOTH, _ERROR}:
                raise NotPlainError
            if len(self._buffer) < size or len(head) < 5:
                check()
                self.more(_SLICE_S)
                continue
            body = bytes(self._buffer[5:size])
            del self._buffer[:size]
            if head[0] == _ERROR:
                raise server_error(body)
            if head[0] == _COPY_BOTH:
                return

    def scan(self, limit: int, keepalive: Keepalive) -> bool:
        """Find the whole messages in the bytes that have come."""
        buffer, at, end, starts = self._buffer, self._at, len(self._buffer), self._starts
        read_size, add = _SIZE.unpack_from, starts.append
        while at + 5 <= end and len(starts) < limit and at < BYTES_AT_MOST:
            behind = at + 1 + read_size(buffer, at + 1)[0]
            if behind > end:
                break
            if buffer[at] != _COPY_DATA:
                self._other(buffer[at], bytes(buffer[at + 5 : behind]))
            elif buffer[at + 5] == _DATA:
                add(at + 5)
            elif buffer[at + 5] == _KEEPALIVE:
                keepalive(bytes(buffer[at + 5 : behind]))
            at = behind
        self._at = at
        return len(starts) >= limit or at >= BYTES_AT_MOST

    @staticmethod
    def _other(kind: int, body: bytes) -> None:
        if kind == _ERROR:
            raise server_error(body)
        if kind not in _ASIDE:
            raise psycopg.OperationalError("the server ended it")

    def more(self, wait_s: float) -> bool:
        """Receive once; return False if nothing came within `wait_s`."""
        if wait_s and not select.select([self._socket], [], [], wait_s)[0]:
            return False
        try:
            count = self._socket.recv_into(self._room)
        except BlockingIOError:
            return False
        except OSError as error:
            raise psycopg.OperationalError(f"the connection is lost: {error.strerror}") from None
        if not count:
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        self._buffer += self._room[:count]
        self.backlog = count > _READ_BYTES // 2
        return True

    def is_empty(self) -> bool:
        """Return True if no message was found."""
        return not self._starts

    def taken(self) -> Messages:
        """Return the messages in the buffer into which they came, with the bytes between them."""
        content = bytes(memoryview(self._buffer)[: self._at])
        del self._buffer[: self._at]
        made = Messages(content, np.array(self._starts, np.int64))
        self._at, self._starts = 0, []
        return made

    def send(self, content: bytes) -> None:
        """Send one message of the copy."""
        self._send(bytes((_COPY_DATA,)), content)

    def _send(self, kind: bytes, content: bytes) -> None:
        rest = memoryview(kind + _SIZE.pack(len(content) + 4) + content)
        while rest:
            if not select.select([], [self._socket], [], _SEND_S)[1]:
                raise psycopg.OperationalError("the server takes no answer")
            try:
                rest = rest[self._socket.send(rest) :]
            except OSError as error:
                raise psycopg.OperationalError(f"the connection is lost: {error.strerror}") from None

    def close(self) -> None:
        """Close this side's copy of the socket; libpq closes the connection."""
        self._socket.close()


class LibpqCopy:
    """Reads the messages through libpq, which decrypts."""

    def __init__(self, pgconn: Any) -> None:
        self._pgconn = pgconn
        self._messages: list[memoryview] = []
        self._size = 0
        self.backlog = False

    def begin(self, command: str, check: Callable[[], None]) -> None:
        """Send the command."""
        run_command(self._pgconn, command, check)

    def scan(self, limit: int, keepalive: Keepalive) -> bool:
        """Take messages out of libpq's buffer."""
        fetch = self._pgconn.get_copy_data
        while len(self._messages) < limit and self._size < BYTES_AT_MOST:
            length, message = fetch(1)
            if not length:
                return False
            if length < 0:
                result = self._pgconn.get_result()
                if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
                    raise result_error(result)
                raise psycopg.OperationalError("the server ended it")
            if message[0] == _DATA:
                self._messages.append(message)
                self._size += length
            elif message[0] == _KEEPALIVE:
                keepalive(bytes(message))
        return True

    def more(self, wait_s: float) -> bool:
        """Let libpq read."""
        return _more(self._pgconn, wait_s)

    def is_empty(self) -> bool:
        """Return True if no message was found."""
        return not self._messages

    def taken(self) -> Messages:
        """Return the messages, joined."""
        made, self._messages, self._size = Messages.of(self._messages), [], 0
        return made

    def send(self, content: bytes) -> None:
        """Send one message of the copy."""
        self._pgconn.put_copy_data(content)
        self._pgconn.flush()

    def close(self) -> None:
        """Do nothing: the connection belongs to the caller."""


def run_command(pgconn: Any, command: str, check: Callable[[], None]) -> Sequence[Sequence[str]]:
    """Return a command's rows; none if it begins a copy. `check` is called while the rows are waited for.

    If this raises, the server is told to cancel the command: it would go on without a client, and keep a slot that it
    makes.
    """
    pgconn.send_query(command.encode())
    try:
        return _rows(pgconn, check)
    except ConnectError:
        pgconn.get_cancel().cancel()
        deadline = Deadline.after(_LEAVES_S)
        while pgconn.is_busy() and not deadline.expired:
            _more(pgconn, _SLICE_S)
        raise


def _rows(pgconn: Any, check: Callable[[], None]) -> Sequence[Sequence[str]]:
    result = None
    while True:
        while pgconn.is_busy():
            check()
            _more(pgconn, _SLICE_S)
        found = pgconn.get_result()
        if found is None:
            break
        result = found
        if found.status == pq.ExecStatus.FATAL_ERROR:
            raise result_error(found)
        if found.status == pq.ExecStatus.COPY_BOTH:
            return ()
    assert result is not None
    texts = [[result.get_value(r, c) or b"" for c in range(result.nfields)] for r in range(result.ntuples)]
    return [[text.decode() for text in row] for row in texts]


def _more(pgconn: Any, wait_s: float) -> bool:
    if not select.select([pgconn.socket], [], [], wait_s)[0]:
        return False
    pgconn.consume_input()
    return True


def result_error(result: Any) -> psycopg.Error:
    """Return the server's error in a result of libpq."""
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message).decode()
    return _error(state, message)


def server_error(body: bytes) -> psycopg.Error:
    """Return the server's error from the body of its message."""
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
    return _error(fields.get(b"C", ""), fields.get(b"M", "the server ended it"))


def _error(state: str, message: str) -> psycopg.Error:
    try:
        return psycopg.errors.lookup(state)(message)
    except KeyError:
        return psycopg.OperationalError(message)
