"""Holds scripts that begin the protocol of PostgreSQL correctly, and then send what an attacker likes.

Source: PostgreSQL's "Frontend/Backend Protocol", "Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from database_server import PASSWORD, Client, listening
from hostile_texts import ANSI, MIB

_TLS = frozenset({80877103, 80877104})
"""A client begins with one of these codes if it asks for TLS or for GSSAPI."""
_INT4, _TEXT, _TIMESTAMP, _NUMERIC, _UNKNOWN = 23, 25, 1114, 1700, 999_999
READY = (b"Z", b"I")
QUERIED = b"Kx7"
"""The connector's own query contains this text, and no statement of its driver does."""
_VALUES = {
    b"version()": b"PostgreSQL 16.1", b"standard_conforming_strings": b"on", b"current_schema()": b"public",
    b"transaction isolation level": b"read committed", b"SELECT 1": b"1",
}  # fmt: skip
DONE = (b"C", b"SELECT 1\0")


class PostgresClient(Client):
    """Stands for the worker's side of a connection to PostgreSQL."""

    def startup(self) -> None:
        """Read who logs in, without TLS."""
        while True:
            (size,) = struct.unpack("!I", self.read(4))
            if int.from_bytes(self.read(size - 4)[:4], "big") not in _TLS:
                return
            self.send(b"N")

    def message(self, kind: bytes, body: bytes, size: int | None = None) -> None:
        """Send a message. `size` is the length that it claims to have; with None it is the true one."""
        self.send(message(kind, body, size))

    def let_in(self) -> None:
        """Let everybody log in without a password."""
        self.startup()
        self.message(b"R", b"\0\0\0\0")
        for name, value in (("server_version", "16.1"), ("client_encoding", "UTF8"), ("TimeZone", "UTC")):
            self.message(b"S", f"{name}\0{value}\0".encode())
        self.message(b"K", b"\0\0\0\1\0\0\0\1")
        self.message(*READY)

    def asked(self) -> tuple[bytes, bytes]:
        """Return the kind and the body of the client's next message."""
        kind = self.read(1)
        (size,) = struct.unpack("!I", self.read(4))
        return kind, self.read(size - 4)


Script = Callable[[PostgresClient], None]


def message(kind: bytes, body: bytes, size: int | None = None) -> bytes:
    """Return a message. `size` is the length that it claims to have; with None it is the true one."""
    return kind + struct.pack("!I", len(body) + 4 if size is None else size) + body


@contextmanager
def hostile_postgres(script: Script) -> Iterator[tuple[int, bytearray]]:
    """Run a server; yield its port, and the bytes that its clients have sent."""
    with listening(PostgresClient, script) as server:
        yield server


def before_sign_in(answer: Script) -> Script:
    """Read who logs in, and answer with this script."""

    def script(client: PostgresClient) -> None:
        client.startup()
        answer(client)

    return script


def to_the_query(answer: Script) -> Script:
    """Let everybody log in, answer the first statements of a session as PostgreSQL does, and the connector's own query
    with this script.
    """

    def script(client: PostgresClient) -> None:
        client.let_in()
        statement = b""
        while True:
            kind, body = client.asked()
            if kind == b"P":
                statement = body
            elif kind in b"QS":
                statement = body if kind == b"Q" else statement
                begins = message(b"1", b"") + message(b"2", b"") if kind == b"S" else b""
                if QUERIED in statement:
                    client.send(begins)
                    answer(client)
                else:
                    client.send(begins + _honest(statement) + message(*READY))

    return script


def _honest(statement: bytes) -> bytes:
    """Return what an honest server answers about itself."""
    for asked, value in _VALUES.items():
        if asked in statement:
            return columns(b"a", _TEXT) + row(value) + message(*DONE)
    if b"SELECT" in statement.upper():
        return columns(b"a", _TEXT) + message(b"C", b"SELECT 0\0")
    return message(b"C", statement.lstrip(b"\0").split(b" ")[0].upper().rstrip(b"\0") + b"\0")


def to_the_query_and_hang_up(answer: Script) -> Script:
    """Do as `to_the_query` does, and close the connection after the answer."""

    def script(client: PostgresClient) -> None:
        answer(client)
        raise ConnectionError("The server has hung up.")

    return to_the_query(script)


def error(told: str) -> bytes:
    """Return the body of an error."""
    return b"SFATAL\0VFATAL\0C28000\0M" + told.encode() + b"\0\0"


def notice() -> bytes:
    """Return a notice that contains characters which steer a terminal."""
    return message(b"N", b"SNOTICE\0C00000\0M" + ANSI.encode() + b"x" * 1000 + b"\0\0")


def columns(name: bytes, kind: int, form: int = 0) -> bytes:
    """Return the message by which a server describes one column; with `form` 1 its values are binary."""
    told = name + b"\0" + struct.pack("!IHIhih", 0, 0, kind, -1, -1, form)
    return message(b"T", b"\0\1" + told)


def row(value: bytes, size: int | None = None) -> bytes:
    """Return a row of one value. `size` is the length that the value claims to have; with None it is the true one."""
    return message(b"D", b"\0\1" + struct.pack("!i", len(value) if size is None else size) + value)


def answer_of(kind: int, value: bytes, name: bytes = b"a", form: int = 0) -> Script:
    """Answer the query with one column of a kind, and one row that contains these bytes."""
    return to_the_query(lambda c: c.send(columns(name, kind, form) + row(value) + message(*DONE) + message(*READY)))


def _endless_rows(client: PostgresClient) -> None:
    client.send(columns(b"a", _TEXT))
    client.repeat(row(b"x" * 4000))


def _endless_value(client: PostgresClient) -> None:
    client.send(columns(b"a", _TEXT))
    client.message(b"D", b"\0\1" + struct.pack("!i", (1 << 30) - 20), 1 << 30)
    client.repeat(b" " * MIB)


def _dripped(client: PostgresClient) -> None:
    client.send(columns(b"a", _TEXT) + b"D\0\x10\0\0\0\1")
    client.drip()


ENDLESS: dict[str, Script] = {
    "a byte at a time": before_sign_in(lambda c: c.drip()),
    "notices before the sign-in": before_sign_in(lambda c: c.repeat(notice())),
    "settings before the sign-in": before_sign_in(
        lambda c: c.repeat(message(b"R", b"\0\0\0\0") + b"S\0\0\0\x08a\0b\0")
    ),
    "notices without an end": to_the_query(lambda c: c.repeat(notice())),
    "rows without an end": to_the_query(_endless_rows),
    "a value of 1 GiB": to_the_query(_endless_value),
    "an answer a byte at a time": to_the_query(_dripped),
    "results without an end": to_the_query(lambda c: c.repeat(columns(b"a", _TEXT) + message(*DONE))),
    "notifications without an end": to_the_query(lambda c: c.repeat(message(b"A", b"\0\0\0\1channel\0payload\0"))),
    "a copy without an end": to_the_query(
        lambda c: (c.message(b"H", b"\0\0\0"), c.repeat(message(b"d", b"x" * 1000)))[0]
    ),
    "settings without an end": to_the_query(lambda c: c.repeat(message(b"S", b"n\0" + b"v" * 1000 + b"\0"))),
}
LIES: dict[str, Script] = {
    "a message of 2 GiB": before_sign_in(lambda c: (c.message(b"R", b"", 0x7FFFFFFF), c.repeat(b" " * MIB))[0]),
    "a message below zero": before_sign_in(lambda c: (c.message(b"R", b"", 0xFFFFFFFF), c.repeat(b" " * MIB))[0]),
    "an error of 1 GiB": before_sign_in(lambda c: (c.message(b"E", b"", 1 << 30), c.repeat(b" " * MIB))[0]),
    "an error in place of a sign-in": before_sign_in(lambda c: c.message(b"E", error(f"{ANSI} {PASSWORD}"))),
    "an unknown way to sign in": before_sign_in(lambda c: c.message(b"R", struct.pack("!I", 99))),
    "a SASL mechanism that is none": before_sign_in(lambda c: c.message(b"R", b"\0\0\0\x0a" + ANSI.encode() + b"\0\0")),
    "rubbish": before_sign_in(lambda c: c.repeat(b"\xff" * MIB)),
    "an unknown message": to_the_query_and_hang_up(lambda c: c.message(b"\xff", b"rubbish")),
    "a message of 2 GiB after the sign-in": to_the_query(
        lambda c: (c.message(b"T", b"", 0x7FFFFFFF), c.repeat(b" " * MIB))[0]
    ),
    "an error": to_the_query_and_hang_up(lambda c: c.message(b"E", error(f"{ANSI} {PASSWORD} " + "x" * 10_000_000))),
    "a file for the client": to_the_query(lambda c: c.message(b"G", b"\0\0\1\0\0")),
    "a file of the client": to_the_query(lambda c: c.message(b"W", b"\0\0\1\0\0")),
    "columns in great number": to_the_query_and_hang_up(lambda c: c.message(b"T", b"\x7f\xff" + b"a\0" * 9)),
    "a value longer than its row": to_the_query_and_hang_up(
        lambda c: c.send(columns(b"a", _TEXT) + row(b"x", 0x7FFFFFF0))
    ),
    "a value below zero": to_the_query_and_hang_up(lambda c: c.send(columns(b"a", _TEXT) + row(b"x", -77))),
    "more values than columns": to_the_query_and_hang_up(
        lambda c: c.send(columns(b"a", _TEXT) + message(b"D", b"\x7f\xff" + b"\0\0\0\1x" * 99))
    ),
    "a name that is no text": answer_of(_UNKNOWN, b"x", b"\xff\xfe"),
    "an encoding that is none": lambda c: (
        c.startup(),
        c.message(b"R", b"\0\0\0\0"),
        c.message(b"S", b"client_encoding\0\xff\0"),
        c.message(*READY),
    )[0],
}
ROWS: dict[str, Script] = {
    "a number that is none": answer_of(_INT4, ANSI.encode()),
    "a number of too few bytes": answer_of(_INT4, b"\1", form=1),
    "a time that is none": answer_of(_TIMESTAMP, ANSI.encode()),
    "a decimal that is none": answer_of(_NUMERIC, b"\x7f\xff\0\0\xff\xff\0\0", form=1),
    "a text that is none": answer_of(_TEXT, b"\xff\xfe"),
    "a name with escapes": answer_of(_UNKNOWN, b"x", ANSI.encode()),
    "a name of 1 MiB": answer_of(_UNKNOWN, b"x", b"n" * MIB),
}
"""A check accepts these answers, as it reads no row; only the tasks notice them."""
