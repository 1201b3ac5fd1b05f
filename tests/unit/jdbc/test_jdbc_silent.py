"""A PostgreSQL that falls silent stops the thread that waits for it, and no other thread of the process."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest

from connectors.jdbc.native import libpq_module

READER = """
import sys, threading
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.pages import PageRules
from connectors.jdbc.dialects.postgres.copy import PostgresCopy
from connectors.jdbc.values.java_zones import zone
form = RowFormat("t", "t", [], TimeRules(zone("UTC"), "connect_logical"))
copy = PostgresCopy({"host": "127.0.0.1", "port": sys.argv[1], "user": "u", "sslmode": "disable"}, ())
read = lambda: copy.pages("SELECT 1", PageRules(1, form), ErrorTranslator("db", ()), "reading")
threading.Thread(target=read, daemon=True).start()
sys.stdin.readline()
print("alive", flush=True)
"""
READY = b"Z\0\0\0\x05I"
ANSWERS = {b"Q": b"C\0\0\0\x0aBEGIN\0" + READY, b"P": b"1\0\0\0\x04" + READY}
"""What the server says to a statement, and to one that is to be prepared; to a question of what it gives, nothing."""


def _serve(listener: socket.socket, is_asked: threading.Event) -> None:
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as said:
        said.read(int.from_bytes(said.read(4), "big") - 4)
        connection.sendall(b"R\0\0\0\x08\0\0\0\0" + READY)
        while kind := said.read(1):
            said.read(int.from_bytes(said.read(4), "big") - 4)
            connection.sendall(ANSWERS.get(kind, b""))
            if kind == b"D":
                is_asked.set()


@pytest.mark.thorough
@pytest.mark.skipif(libpq_module() is None, reason="The native code, which reads by libpq, was not built.")
def test_other_threads_go_on_while_a_server_does_not_say_what_a_statement_gives():
    is_asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, is_asked), daemon=True).start()
        port = str(listener.getsockname()[1])
        with subprocess.Popen(
            [sys.executable, "-c", READER, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as reader:
            ends = threading.Timer(60, reader.kill)
            ends.start()
            try:
                assert is_asked.wait(60), "the server was never asked"
                assert reader.communicate("go on\n")[0] == "alive\n", "no other thread ran while the server was silent"
            finally:
                ends.cancel()
                reader.kill()
