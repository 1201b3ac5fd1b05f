"""Checks how far a replica of MariaDB or MySQL is, from what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from connect.api.errors import ConnectError
from connectors.jdbc.dialects.mysql.replication import Replication

NOW_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US


class Replica:
    """A server that says how far its channels are; None: it may not be asked."""

    def __init__(
        self, *behind_s: int | None, read_only: int = 1, may_ask: bool = True, is_mariadb: bool = True
    ) -> None:
        self._behind_s = behind_s
        self._read_only = read_only
        self._may_ask = may_ask
        self.is_mariadb = is_mariadb
        self.asked: list[str] = []

    def mappings(self, statement: object, _doing: str) -> list[dict[str, int | None]]:
        self.asked.append(str(statement))
        if not self._may_ask:
            raise ConnectError("Access denied")
        if self.is_mariadb is (str(statement) != "SHOW ALL SLAVES STATUS"):
            raise ConnectError("syntax")
        name = "Seconds_Behind_Master" if self.is_mariadb else "Seconds_Behind_Source"
        return [{name: seconds} for seconds in self._behind_s]

    def scalar(self, _statement: object, _doing: str) -> int:
        return self._read_only

    def told(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except ConnectError:
            return None


def behind_s(replication: Replication, replica: Replica, at_s: int = 0, *, applies: bool = True) -> float | None:
    reached = replication.reached_us(replica, NOW_US + at_s * SECOND_US, applies=applies)
    return None if reached is None else (NOW_US + at_s * SECOND_US - reached) / SECOND_US


@pytest.mark.parametrize("is_mariadb", [True, False])
def test_a_replica_is_as_far_behind_as_its_last_channel_and_a_second(is_mariadb: bool):
    assert behind_s(Replication(HOUR_US), Replica(0, is_mariadb=is_mariadb)) == 1
    assert behind_s(Replication(HOUR_US), Replica(0, 120, is_mariadb=is_mariadb)) == 121


def test_a_server_that_follows_none_is_asked_once():
    replication, server = Replication(HOUR_US), Replica()
    assert behind_s(replication, server, applies=False) is None
    assert behind_s(replication, server, applies=False) is None
    assert len(server.asked) == 1
    refused = Replica(may_ask=False)
    assert behind_s(replication, refused, applies=False) is None


def test_while_replication_stands_still_so_does_what_is_here(caplog: pytest.LogCaptureFixture):
    replication = Replication(HOUR_US)
    assert behind_s(replication, Replica(4)) == 5
    for applies in (True, False):
        assert behind_s(replication, Replica(None), 100, applies=applies) == 105
    assert caplog.text.count("Replication does not run") == 1
    assert behind_s(replication, Replica(130), 200) == 131
    assert behind_s(Replication(HOUR_US), Replica(None), applies=False) == 3600


def test_a_replica_that_took_over_follows_none():
    replication = Replication(HOUR_US)
    assert behind_s(replication, Replica(4)) == 5
    assert behind_s(replication, Replica(None, read_only=0), 10, applies=False) is None
    assert behind_s(replication, Replica(), 20, applies=False) is None


def test_a_replica_that_may_not_be_asked_is_told_what_to_grant(caplog: pytest.LogCaptureFixture):
    replication = Replication(HOUR_US)
    for _ in range(2):
        assert behind_s(replication, Replica(may_ask=False)) == 0
    assert caplog.text.count("GRANT SLAVE MONITOR") == 1
