"""Holds scripts that begin the protocol of MariaDB and MySQL correctly, and then send what an attacker likes.

Source: MySQL's "Client/Server Protocol".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from database_server import PASSWORD, Client, listening
from hostile_texts import ANSI, MIB

OK = b"\0\0\0\2\0\0\0"
EOF = b"\xfe\0\0\2\0"
QUERIED = b"Kx7"
"""The connector's own query contains this text, and no statement of its driver does."""
_LONGEST_PACKET = 0xFFFFFF
_PROTOCOL_41, _SECURE, _PLUGIN_AUTH, _LOCAL_FILES = 1 << 9, 1 << 15, 1 << 19, 1 << 7
_INT, _TEXT, _DATETIME, _DECIMAL, _JSON, _GEOMETRY, _BIT = 3, 253, 12, 246, 245, 255, 16


class MySqlClient(Client):
    """Stands for the worker's side of a connection to MySQL."""

    def packet(self, sequence: int, body: bytes) -> None:
        """Send a packet."""
        self.send(struct.pack("<I", len(body))[:3] + bytes([sequence % 256]) + body)

    def packets(self, sequence: int, *bodies: bytes) -> None:
        """Send packets one after the other."""
        for number, body in enumerate(bodies, sequence):
            self.packet(number, body)

    def asked(self) -> bytes:
        """Return the next packet of the client."""
        head = self.read(4)
        return self.read(int.from_bytes(head[:3], "little"))

    def greet(self, plugin: bytes = b"mysql_native_password") -> None:
        """Begin as MySQL does, and read who logs in."""
        flags = _PROTOCOL_41 | _SECURE | _PLUGIN_AUTH | _LOCAL_FILES
        low, high = struct.pack("<I", flags)[:2], struct.pack("<I", flags)[2:]
        self.packet(0, b"\x0a8.0.40\0" + b"\1\0\0\0" + b"s" * 8 + b"\0" + low + b"\x2d\2\0" + high + b"\x15"
                    + b"\0" * 10 + b"s" * 12 + b"\0" + plugin + b"\0")  # fmt: skip
        self.asked()

    def long_packets(self, sequence: int) -> None:
        """Send parts of one packet without end."""
        body = b" " * _LONGEST_PACKET
        while not self.over.is_set():
            self.packet(sequence, body)
            sequence += 1

    def rows(self, sequence: int) -> None:
        """Send rows of one text without end."""
        row = text(b"x" * 4000)
        while not self.over.is_set():
            self.packet(sequence, row)
            sequence += 1


Script = Callable[[MySqlClient], None]


@contextmanager
def hostile_mysql(script: Script) -> Iterator[tuple[int, bytearray]]:
    """Run a server; yield its port, and the bytes that its clients have sent."""
    with listening(MySqlClient, script) as server:
        yield server


def text(data: bytes) -> bytes:
    """Return bytes with their length before them."""
    return b"\xfd" + struct.pack("<I", len(data))[:3] + data


def column(name: bytes, kind: int, charset: int = 45) -> bytes:
    """Return the packet by which a server describes a column."""
    names = b"".join(map(text, (b"def", b"shop", b"t", b"t", name, name)))
    return names + b"\x0c" + struct.pack("<HIBHB", charset, 255, kind, 0, 0) + b"\0\0"


def to_the_query_and_hang_up(answer: Script) -> Script:
    """Do as `to_the_query` does, and close the connection after the answer."""

    def script(client: MySqlClient) -> None:
        answer(client)
        raise ConnectionError("The server has hung up.")

    return to_the_query(script)


def error(told: str) -> bytes:
    """Return the error packet of a statement."""
    return b"\xff" + struct.pack("<H", 1064) + b"#42000" + told.encode()


def after_greeting(answer: Script) -> Script:
    """Begin as MySQL does, and answer the login with this script."""

    def script(client: MySqlClient) -> None:
        client.greet()
        answer(client)

    return script


def to_the_query(answer: Script) -> Script:
    """Let everybody log in, answer the first statements of a session as MySQL does, and the connector's own query with
    this script.
    """

    def script(client: MySqlClient) -> None:
        client.greet()
        client.packet(2, OK)
        while True:
            told = client.asked()
            if told[:1] == b"\x03" and QUERIED in told:
                answer(client)
            elif told[:1] == b"\x03" and told[1:5].upper() in (b"SELE", b"SHOW"):
                value = text(_value_of(told.lower()))
                row = column(b"a", _TEXT), column(b"b", _TEXT), EOF, value * 2, EOF
                client.packets(1, b"\2", *row)
            else:
                client.packet(1, OK)

    return script


def _value_of(statement: bytes) -> bytes:
    """Return what an honest server answers about itself."""
    if b"version" in statement:
        return b"8.0.40"
    return b"REPEATABLE-READ" if b"isolation" in statement else b"1"


def switch(plugin: bytes, data: bytes = b"") -> Script:
    """Ask for the password by another plug-in, and read the answer."""

    def answer(client: MySqlClient) -> None:
        client.packet(2, b"\xfe" + plugin + b"\0" + data)
        client.asked()
        client.packet(4, OK)
        while True:
            client.asked()
            client.packet(1, OK)

    return after_greeting(answer)


def answer_of(kind: int, value: bytes, name: bytes = b"a", charset: int = 45) -> Script:
    """Answer the query with one column of a kind, and one row that contains these bytes."""
    return to_the_query(lambda c: c.packets(1, b"\1", column(name, kind, charset), EOF, text(value), EOF))


def _endless(client: MySqlClient) -> None:
    client.packets(1, b"\1", column(b"a", _TEXT), EOF)
    client.rows(4)


def _dripped(sequence: int) -> Script:
    """Announce a packet, and send it a byte at a time."""

    def script(client: MySqlClient) -> None:
        client.send(b"\xff\xff\0" + bytes([sequence]))
        client.drip()

    return script


ENDLESS: dict[str, Script] = {
    "a greeting without an end": lambda c: c.long_packets(0),
    "a greeting a byte at a time": _dripped(0),
    "an answer to the password without an end": after_greeting(lambda c: c.long_packets(2)),
    "an answer a byte at a time": to_the_query(_dripped(1)),
    "a packet without an end": to_the_query(lambda c: c.long_packets(1)),
    "rows without an end": to_the_query(_endless),
}
LIES: dict[str, Script] = {
    "a greeting of rubbish": lambda c: c.packet(0, b"\x0a"),
    "an empty greeting": lambda c: c.packet(0, b""),
    "a version that is none": lambda c: c.packet(0, b"\x0a" + ANSI.encode() + b"\0" * 60),
    "a plug-in that is no text": switch(b"\xff\xfe" + ANSI.encode()),
    "a greeting with a plug-in that is no text": lambda c: c.greet(b"\xff\xfe" + ANSI.encode()),
    "a key of no RSA": switch(b"sha256_password", b"rubbish"),
    "an error in place of a sign-in": after_greeting(lambda c: c.packet(2, error(f"{ANSI} {PASSWORD}"))),
    "a file in place of a sign-in": after_greeting(lambda c: c.packet(2, b"\xfb/etc/passwd")),
    "columns in great number": to_the_query_and_hang_up(lambda c: c.packet(1, b"\xfe" + b"\xff" * 8)),
    "columns of rubbish": to_the_query(lambda c: c.packets(1, b"\1", b"\xfd\xff\xff\xff")),
    "a name that is no text": answer_of(_TEXT, b"x", b"\xff\xfe"),
    "a number that is none": answer_of(_INT, ANSI.encode()),
    "a text that is none": answer_of(_TEXT, b"\xff\xfe"),
    "a value longer than its row": to_the_query_and_hang_up(
        lambda c: c.packets(1, b"\1", column(b"a", _TEXT), EOF, b"\xfd\xff\xff\x7f", EOF)
    ),
    "an error of 10 MB": to_the_query(lambda c: c.packet(1, error(f"{ANSI} {PASSWORD} " + "x" * 10_000_000))),
    "an error that is no text": to_the_query(lambda c: c.packet(1, b"\xff\1\0#\xff\xff\xff\xff\xff\xfe")),
    "an error without a number": to_the_query(lambda c: c.packet(1, b"\xff")),
    "nothing": to_the_query(lambda c: c.packet(1, b"")),
    "a packet out of order": to_the_query(lambda c: c.packet(77, OK)),
}
ROWS: dict[str, Script] = {
    "a column of an unknown kind": answer_of(99, b"x"),
    "a column of an unknown character set": answer_of(_TEXT, b"x", charset=60000),
    "a name with escapes": answer_of(99, b"x", ANSI.encode() + b"\0"),
    "a name of 1 MiB": answer_of(99, b"x", b"n" * MIB),
}
"""A check accepts these answers, as it reads no row; only the tasks notice them."""
