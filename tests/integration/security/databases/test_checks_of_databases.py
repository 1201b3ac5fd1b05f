"""A database that lies, or answers without an end: the check of its connector ends with an error that names it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

import hostile_mysql as mysql
import hostile_postgres as postgres
import pytest
from beside import CHECK_S, QUICK_CHECKS, Beside
from database_server import PASSWORD

pytestmark = pytest.mark.attacks

SLACK_S = 60.0
MOST_MEMORY_MIB = 1536
"""Thrice a host's limit: what comes between two looks at a host on a loaded machine."""
LONGEST_TEXT = 5000
SLOW = {
    "mysql: an answer a byte at a time",
    "postgresql: settings without an end",
    "postgresql: notices without an end",
}
"""Each of these waits until the check's time is over, as two others do that are tried each time."""
CASES = [
    pytest.param(kind, script, id=f"{kind}: {name}", marks=[pytest.mark.chaos] if f"{kind}: {name}" in SLOW else [])
    for kind, scripts in (("mysql", mysql.LIES | mysql.ENDLESS), ("postgresql", postgres.LIES | postgres.ENDLESS))
    for name, script in scripts.items()
]


def running(kind: str, script: object) -> AbstractContextManager[tuple[int, bytearray]]:
    return (postgres.hostile_postgres if kind == "postgresql" else mysql.hostile_mysql)(script)


def config(kind: str, port: int) -> dict[str, str]:
    return {
        "connector.class": "JdbcSourceConnector", "mode": "bulk", "topic.prefix": "t-", "query": "SELECT Kx7 AS a",
        "connection.url": f"jdbc:{kind}://127.0.0.1:{port}/shop", "connection.user": "u",
        "connection.password": PASSWORD, "connection.attempts": "1",
    }  # fmt: skip


@pytest.fixture(scope="module")
def more_settings() -> dict[str, str]:
    return QUICK_CHECKS


@pytest.mark.parametrize(("kind", "script"), CASES)
def test_a_check_of_a_hostile_database_ends_with_an_error(beside: Beside, kind: str, script: object) -> None:
    with beside.unharmed(), beside.within_memory(MOST_MEMORY_MIB), running(kind, script) as (port, heard):
        began_s = time.monotonic()
        told = "\n".join(beside.validate(config(kind, port)))
        took_s = time.monotonic() - began_s
    assert told
    assert took_s < CHECK_S + SLACK_S
    assert len(told) < LONGEST_TEXT
    assert PASSWORD not in told
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert b"root:" not in heard
