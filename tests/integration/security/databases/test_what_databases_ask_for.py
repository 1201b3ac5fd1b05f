"""A database that asks for a password in the clear, or for a file, gets an error that names it, and neither."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from database_server import PASSWORD
from hostile_mysql import OK, MySqlClient, Script, after_greeting, error, hostile_mysql, switch

pytestmark = pytest.mark.attacks

MOST_MEMORY_MIB = 300
WITHIN_S = 25
"""A check reaches a database within 5 s; the rest is for a loaded machine."""
CHECK = """
import json, resource, sys, time
from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline
from connect.lib.printable import printable
side, config = sys.argv[1], json.loads(sys.argv[2])
if side == "source":
    from connectors.jdbc.settings.config import JdbcSourceConfig as Config
    from connectors.jdbc.source.check import check
else:
    from connectors.jdbc.sink.settings.config import JdbcSinkConfig as Config
    from connectors.jdbc.sink.check import check
parsed = Config.parse(config)
before_kib, began_s, said = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic(), ""
try:
    check(parsed, Deadline.after(10))
except ConnectError as error:
    said = printable(str(error))
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) >> 10
print(json.dumps([said, grown, time.monotonic() - began_s]))
"""
"""Runs in a process of its own: the most memory that this one ever had would hide what a check takes."""


def checked(side: str, kind: str, script: Script, **more: str) -> tuple[str, bytes]:
    """Check a configuration of a source or a sink; what is said against it, and what the server has heard."""
    with hostile_mysql(script) as (port, heard):
        config = {
            "connection.url": f"jdbc:{kind}://127.0.0.1:{port}/shop", "connection.user": "u",
            "connection.password": PASSWORD, "connection.attempts": "1", **more,
        }  # fmt: skip
        config |= {"mode": "bulk", "topic.prefix": "t-"} if side == "source" else {"topics": "t"}
        config.setdefault("query", "SELECT 1 AS a") if side == "source" else None
        try:
            ran = subprocess.run(
                [sys.executable, "-P", "-c", CHECK, side, json.dumps(config)],
                capture_output=True, text=True, timeout=90, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            pytest.fail("The check has no end")
        assert ran.returncode == 0, ran.stderr[-2000:]
        said, grown_mib, took_s = json.loads(ran.stdout)
        assert said, "The check found nothing wrong"
        assert grown_mib < MOST_MEMORY_MIB
        assert took_s < WITHIN_S
        assert PASSWORD not in said
        assert "\x1b" not in said
        return said, bytes(heard)


@pytest.mark.parametrize(("plugin", "data"), [(b"mysql_clear_password", b""), (b"dialog", b"\4Password: ")])
@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_password_goes_to_no_server_in_the_clear_without_tls(kind: str, plugin: bytes, data: bytes) -> None:
    said, heard = checked("source", kind, switch(plugin, data))
    assert PASSWORD.encode() not in heard
    assert "sslMode" in said


NONCE = b"n" * 20
SERVERS_KEY = rsa.generate_private_key(65537, 2048)
HANDED_OUT = b"\1" + SERVERS_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def by_key(plugin: bytes, found: list[bytes]) -> Script:
    """Ask for the password encrypted by a key of the server's own, and read it."""

    def answer(client: MySqlClient) -> None:
        client.packet(2, b"\xfe" + plugin + b"\0" + NONCE + b"\0")
        sequence = 4
        if plugin == b"caching_sha2_password":
            client.asked()  # what is enough where the server knows the password
            client.packet(4, b"\1\4")
            sequence = 6
        client.asked()
        client.packet(sequence, HANDED_OUT)
        sent = SERVERS_KEY.decrypt(client.asked(), OAEP(MGF1(SHA1()), SHA1(), None))
        found.append(bytes(byte ^ NONCE[at % len(NONCE)] for at, byte in enumerate(sent)))
        client.packet(sequence + 2, error("That will do."))

    return after_greeting(answer)


@pytest.mark.parametrize("plugin", [b"caching_sha2_password", b"sha256_password"])
@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_password_goes_by_no_key_of_a_server_unless_the_url_allows_it(kind: str, plugin: bytes) -> None:
    found: list[bytes] = []
    said, _ = checked("source", kind, by_key(plugin, found))
    assert found == []
    assert "allowPublicKeyRetrieval=true" in said
    checked("source", kind, by_key(plugin, found), **{"connection.allowPublicKeyRetrieval": "true"})
    assert found == [PASSWORD.encode() + b"\0"]


@pytest.mark.parametrize("side", ["source", "sink"])
@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_file_goes_to_no_server_that_asks_for_it(kind: str, side: str, tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text("Kx7-file-9Qz")

    def answer(client: MySqlClient) -> None:
        client.packet(2, OK)
        while True:
            asked = client.asked()
            client.packet(1, OK if asked.startswith(b"\3SET") else b"\xfb" + bytes(file))

    said, heard = checked(side, kind, after_greeting(answer))
    assert b"Kx7-file-9Qz" not in heard
    assert "asked for a file" in said
