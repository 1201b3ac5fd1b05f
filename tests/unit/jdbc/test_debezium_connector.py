"""Debezium's connectors plan one task, and tell by Debezium's keys what keeps them from their server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from connect.api.errors import ConnectError, RetriableError
from connect.api.optional.trial import KeepsAtSource
from connect.lib.deadline import Deadline
from connectors.jdbc.debezium.binlog.config import DebeziumBinlogConfig, DebeziumMariaDbConfig, DebeziumMySqlConfig
from connectors.jdbc.debezium.binlog.connector import DebeziumBinlogConnector
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.debezium.connector import DebeziumPostgresConnector

PATIENCE_S = 60.0
CONFIGS = (DebeziumPostgresConfig, DebeziumMySqlConfig, DebeziumMariaDbConfig)
of_each = pytest.mark.parametrize("config", CONFIGS, ids=["postgres", "mysql", "mariadb"])


@pytest.fixture
def refusing() -> Iterator[int]:
    """A port of this machine that is taken, and refuses every connection."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def _connector(
    config: type[DebeziumPostgresConfig | DebeziumBinlogConfig], port: int
) -> tuple[DebeziumPostgresConnector | DebeziumBinlogConnector, dict[str, str]]:
    given = {
        "database.hostname": "127.0.0.1", "database.port": str(port), "database.user": "u",
        "database.password": "p", "topic.prefix": "one",
    }  # fmt: skip
    if config is DebeziumPostgresConfig:
        given["database.dbname"] = "shop"
        return DebeziumPostgresConnector(config.parse(given)), given
    return DebeziumBinlogConnector(config.parse(given)), given


def _worker() -> Mock:
    """Stand for a worker that has stored no offset."""
    return Mock(stored_offset=Mock(return_value=None))


@of_each
def test_a_server_that_refuses_is_told_by_debeziums_key(
    config: type[DebeziumPostgresConfig | DebeziumBinlogConfig], refusing: int
):
    connector, _ = _connector(config, refusing)
    with pytest.raises(ConnectError) as caught:
        connector.check(Deadline.after(PATIENCE_S))
    assert caught.value.key == "database.hostname"


@of_each
def test_a_task_reads_the_tables_that_it_was_given(
    config: type[DebeziumPostgresConfig | DebeziumBinlogConfig], refusing: int
):
    connector, given = _connector(config, refusing)
    with pytest.raises(ConnectError, match="No table matches"):
        connector.task(given).open(_worker())
    task = connector.task({**given, "tables": '"shop"."orders"'})
    task.open(_worker())
    try:
        with pytest.raises(RetriableError):
            task.poll(Deadline.after(PATIENCE_S))
    finally:
        task.close()


@of_each
def test_postgres_alone_keeps_something_for_the_connector(
    config: type[DebeziumPostgresConfig | DebeziumBinlogConfig], refusing: int
):
    connector, _ = _connector(config, refusing)
    assert isinstance(connector, KeepsAtSource) is (config is DebeziumPostgresConfig)
