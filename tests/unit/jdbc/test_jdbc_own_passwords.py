"""Checks that a server which a configuration names, and that asks for a password, gets none that libpq finds on this
machine.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from connect.api.errors import ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig

pytest.importorskip("psycopg")
OWN = "own-Kx7-9Qz"
COCKROACH = "cockroachdb+psycopg"
_TLS, _GSS, _CLEARTEXT = 80877103, 80877104, 3


class AskingServer:
    """Speaks so much of PostgreSQL that a client tells it its password, and keeps what it was told."""

    def __init__(self, listening: socket.socket) -> None:
        self.port = listening.getsockname()[1]
        self.told: list[bytes] = []
        self._listening = listening
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client:
                first = client.recv(4096)
                while first[4:8] in (struct.pack("!I", _TLS), struct.pack("!I", _GSS)):
                    client.sendall(b"N")
                    first = client.recv(4096)
                client.sendall(b"R" + struct.pack("!II", 8, _CLEARTEXT))
                self.told.append(client.recv(4096))


@pytest.fixture
def server() -> Iterator[AskingServer]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield AskingServer(listening)
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A password file for every server."""
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:*:{OWN}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    return file


def said(server: AskingServer, paths: object, query: str = "", driver: str = "postgresql", **more: str) -> bytes:
    """What the server was told by a connector of a worker that allows these paths."""
    url = f"{driver}://me@127.0.0.1:{server.port}/shop{query}"
    keys = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": "t", "connection.url": url, **more}
    config = JdbcSourceConfig.parse(JdbcSourceConfig.with_leave(keys, {"allowed.paths": str(paths)}))
    with pytest.raises(ConnectError):
        _ = Database(config).connection
    return b"".join(server.told)


@pytest.mark.parametrize("driver", ["postgresql", COCKROACH])
@pytest.mark.parametrize("paths", ["", "/elsewhere"])
def test_neither_that_of_the_file_nor_that_of_the_environment(
    server: AskingServer, own: Path, paths: str, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This dialect stands in for CockroachDB's own, whose package may not be installed: both connect by libpq.
    monkeypatch.setitem(sa.dialects.registry.impls, "cockroachdb.psycopg", lambda: PGDialect_psycopg)
    assert OWN.encode() not in said(server, paths, driver=driver)
    monkeypatch.setenv("PGPASSWORD", OWN)
    assert OWN.encode() not in said(server, paths, driver=driver)
    assert server.told


def test_the_file_counts_where_the_worker_lists_it(server: AskingServer, own: Path) -> None:
    assert OWN.encode() in said(server, own)


def test_what_the_configuration_gives_is_said(server: AskingServer, own: Path) -> None:
    assert b"given-1" in said(server, "", **{"connection.password": "given-1"})
    assert b"given-2" in said(server, "", "?password=given-2")
