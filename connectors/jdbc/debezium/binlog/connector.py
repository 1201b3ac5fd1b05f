"""Runs the reader of mode=log by Debezium's settings of MySQL and MariaDB, and gives Debezium's records."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING

from connect.api.config import ConnectorConfig
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.binlog.config import DebeziumBinlogConfig
from connectors.jdbc.debezium.binlog.translation import reader_config
from connectors.jdbc.debezium.shared.column_rules import ColumnRules
from connectors.jdbc.debezium.shared.connector import DebeziumConnector
from connectors.jdbc.debezium.shared.headers import EventHeaders
from connectors.jdbc.debezium.shared.translation import columns_left_out, reading_options
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcSourceConfig

if TYPE_CHECKING:
    from connectors.jdbc.debezium.binlog.tables import DebeziumBinlogTables
    from connectors.jdbc.log.mysql.reader import MySqlLog


class DebeziumBinlogConnector(DebeziumConnector[DebeziumBinlogConfig]):
    """Reads MySQL or MariaDB as Debezium does: the configuration's class tells which."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DebeziumBinlogConfig)
        super().__init__(config, reader_config, _open_log)


def _open_log(config: DebeziumBinlogConfig, session: LogSession, stored: Stored) -> MySqlLog:
    from connectors.jdbc.log.mysql.reader import MySqlLog  # of drivers that a worker may lack

    headers = EventHeaders(config.connector, config.prefix, str(uuid.uuid4()), extended=config.extended_headers)
    return MySqlLog(session, stored, partial(_tables, config), reading_options(config, headers))


def _tables(
    config: DebeziumBinlogConfig, database: Database, reading: JdbcSourceConfig, server: str
) -> DebeziumBinlogTables:
    from connectors.jdbc.debezium.binlog.tables import DebeziumBinlogTables  # as above

    del server  # The class names itself, whichever server it reads.
    rules = ColumnRules(config.originals, columns_left_out(config))
    return DebeziumBinlogTables(database, reading, config.connector, config.handling, rules)
