"""Connects Debezium's settings, translated for the reader of mode=log, with its form of the records."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from connect.api.config import ConnectorConfig
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.config import DebeziumPostgresConfig, DebeziumPostgresTaskConfig
from connectors.jdbc.debezium.shared.headers import EventHeaders
from connectors.jdbc.debezium.shared.translation import by_own_keys, columns_left_out
from connectors.jdbc.debezium.translation import reader_config
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector

if TYPE_CHECKING:
    from connectors.jdbc.debezium.tables import DebeziumTables
    from connectors.jdbc.log.postgres.reader import PostgresLog
    from connectors.jdbc.log.task import JdbcLogTask


class DebeziumPostgresConnector:
    """Plans the one task, and connects only in `check`, `task_configs` and `clean_up`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DebeziumPostgresConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect; see that server, slot, publication and tables are as reading needs them."""
        with by_own_keys():
            return self._reader.check(deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the connector's settings and the chosen tables: one task reads the log, as in Debezium."""
        with by_own_keys():
            (planned,) = self._reader.task_configs(max_tasks)
        return [{**self._config.originals, "tables": planned["tables"]}]

    @property
    def kept_at_source(self) -> str | None:
        """Name the slot."""
        return self._reader.kept_at_source

    def clean_up(self, deadline: Deadline) -> str | None:
        """Drop the slot where slot.drop.on.stop says so."""
        return self._reader.clean_up(deadline)

    def task(self, config: Mapping[str, str]) -> JdbcLogTask:
        """Return a task over the tables of `task_configs`."""
        from connectors.jdbc.log.task import JdbcLogTask  # of drivers that a worker may lack

        parsed = DebeziumPostgresTaskConfig.parse(config)
        return JdbcLogTask(reader_config(parsed, parsed.tables), partial(_log, parsed))

    @property
    def _reader(self) -> JdbcSourceConnector:
        return JdbcSourceConnector(reader_config(self._config))


def _log(config: DebeziumPostgresConfig, session: LogSession, stored: Stored) -> PostgresLog:
    from connectors.jdbc.log.postgres.reader import PostgresLog  # as above

    headers = EventHeaders("postgresql", config.prefix, str(uuid.uuid4()), extended=config.extended_headers)
    return PostgresLog(session, stored, partial(_tables, config), headers)


def _tables(config: DebeziumPostgresConfig, database: Database, reading: JdbcSourceConfig) -> DebeziumTables:
    from connectors.jdbc.debezium.tables import DebeziumTables  # as above

    return DebeziumTables(database, reading, config.handling, columns_left_out(config))
