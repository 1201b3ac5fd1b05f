"""Connects Debezium's settings, translated for the reader of mode=log, with its form of the records."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from connect.api.config import ConnectorConfig
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.binlog.config import (
    DebeziumBinlogConfig,
    DebeziumMariaDbTaskConfig,
    DebeziumMySqlTaskConfig,
)
from connectors.jdbc.debezium.binlog.translation import reader_config
from connectors.jdbc.debezium.shared.headers import EventHeaders
from connectors.jdbc.debezium.shared.translation import by_own_keys, columns_left_out
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector

if TYPE_CHECKING:
    from connectors.jdbc.debezium.binlog.tables import DebeziumBinlogTables
    from connectors.jdbc.log.mysql.reader import MySqlLog
    from connectors.jdbc.log.task import JdbcLogTask


class _BinlogConnector:
    """Plans the one task, and connects only in `check` and `task_configs`."""

    task_config: ClassVar[type[DebeziumMySqlTaskConfig | DebeziumMariaDbTaskConfig]]

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DebeziumBinlogConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect; see that server and tables are as reading needs them."""
        with by_own_keys():
            return self._reader.check(deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the connector's settings and the chosen tables: one task reads the log, as in Debezium."""
        with by_own_keys():
            (planned,) = self._reader.task_configs(max_tasks)
        return [{**self._config.originals, "tables": planned["tables"]}]

    def task(self, config: Mapping[str, str]) -> JdbcLogTask:
        """Return a task over the tables of `task_configs`."""
        from connectors.jdbc.log.task import JdbcLogTask  # of drivers that a worker may lack

        parsed = self.task_config.parse(config)
        return JdbcLogTask(reader_config(parsed, parsed.tables), partial(_log, parsed))

    @property
    def _reader(self) -> JdbcSourceConnector:
        return JdbcSourceConnector(reader_config(self._config))


class DebeziumMySqlConnector(_BinlogConnector):
    """Reads MySQL as Debezium's MySQL connector does."""

    task_config = DebeziumMySqlTaskConfig


class DebeziumMariaDbConnector(_BinlogConnector):
    """Reads MariaDB as Debezium's MariaDB connector does."""

    task_config = DebeziumMariaDbTaskConfig


def _log(config: DebeziumBinlogConfig, session: LogSession, stored: Stored) -> MySqlLog:
    from connectors.jdbc.log.mysql.reader import MySqlLog  # as above

    headers = EventHeaders(config.connector, config.prefix, str(uuid.uuid4()), extended=config.extended_headers)
    return MySqlLog(session, stored, partial(_tables, config), headers)


def _tables(
    config: DebeziumBinlogConfig, database: Database, reading: JdbcSourceConfig, server: str
) -> DebeziumBinlogTables:
    from connectors.jdbc.debezium.binlog.tables import DebeziumBinlogTables  # as above

    del server  # The class names itself, whichever server it reads.
    return DebeziumBinlogTables(database, reading, config.connector, config.handling, columns_left_out(config))
