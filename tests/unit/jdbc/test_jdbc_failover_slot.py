"""Checks when a slot is made for standbys, too, by what the server says of itself."""

from __future__ import annotations

import logging

import pytest

from connectors.jdbc.log.postgres.slot_setup import makes_failover_slot
from connectors.jdbc.settings.config import JdbcSourceConfig


class Server:
    """A PostgreSQL that says its version, and if it is a standby."""

    def __init__(self, version: int, *, is_standby: bool) -> None:
        self._answers = {"SELECT current_setting('server_version_num')": version}
        self._answers["SELECT pg_is_in_recovery()"] = is_standby

    def scalar(self, statement: object, _doing: str) -> int:
        return self._answers[str(statement)]

    def end_transaction(self) -> None:
        """Have no transaction."""


@pytest.mark.parametrize(
    ("asks", "version", "is_standby", "makes", "told"),
    [
        ("false", 150_000, False, False, ""), ("true", 170_000, False, True, ""),
        ("true", 169_999, False, False, "this server is older"), ("true", 180_000, True, False, "only a primary"),
    ],
)  # fmt: skip
def test_a_slot_is_one_of_standbys_where_asked_for_and_the_server_makes_such(
    asks: str, version: int, is_standby: bool, makes: bool, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = JdbcSourceConfig.parse({
        "connection.url": "jdbc:postgresql://h/d", "mode": "log", "table.whitelist": "t", "topic.prefix": "p",
        "slot.failover": asks,
    })  # fmt: skip
    with caplog.at_level(logging.WARNING):
        assert makes_failover_slot(Server(version, is_standby=is_standby), config) is makes  # type: ignore[arg-type]  # Server stands in for a Database
    assert told in caplog.text
    assert bool(told) == ("slot.failover has no effect" in caplog.text)
