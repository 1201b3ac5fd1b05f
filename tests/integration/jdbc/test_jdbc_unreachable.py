"""Checks that everybody who asks about a database that is away hears so within seconds."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.check import check

POSTGRES, MARIADB = "jdbc:postgresql://127.0.0.1:{port}/shop", "jdbc:mariadb://127.0.0.1:{port}/shop"


@pytest.fixture
def port(says_nothing: bool) -> Iterator[int]:
    """A port where nothing listens, or one where whoever listens never says a word."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if says_nothing:
            taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.parametrize("url", [POSTGRES, MARIADB])
@pytest.mark.parametrize("says_nothing", [False, True])
def test_a_database_that_is_away_is_told_before_the_time_for_the_check_is_over(url: str, port: int) -> None:
    config = JdbcSourceConfig.parse(
        {
            "name": "n", "connector.class": "JdbcSourceConnector", "connection.url": url.format(port=port),
            "connection.user": "u", "connection.password": "p", "mode": "bulk", "topic.prefix": "t-",
            "table.whitelist": "t",
        }
    )  # fmt: skip
    began_s = time.monotonic()
    with pytest.raises(ConfigError) as refused:
        check(config, Deadline.after(30))
    assert time.monotonic() - began_s < 20
    assert refused.value.problems[0].key == "connection.url"
    assert str(port) in str(refused.value)
