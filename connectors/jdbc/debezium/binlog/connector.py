"""Runs the reader of mode=log by Debezium's settings of MySQL and MariaDB, and gives Debezium's records."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from connect.api.config import ConnectorConfig
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.binlog.config import DebeziumBinlogConfig
from connectors.jdbc.debezium.binlog.translation import chosen_databases, reader_config
from connectors.jdbc.debezium.shared.column_rules import ColumnRules
from connectors.jdbc.debezium.shared.connector import DebeziumConnector
from connectors.jdbc.debezium.shared.headers import EventHeaders
from connectors.jdbc.debezium.shared.translation import columns_left_out, reading_options
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcSourceConfig

if TYPE_CHECKING:
    from connectors.jdbc.debezium.binlog.tables import DebeziumBinlogTables
    from connectors.jdbc.log.ddl.logged_statements import StatementTeller
    from connectors.jdbc.log.mysql.reader import MySqlLog


class DebeziumBinlogConnector(DebeziumConnector[DebeziumBinlogConfig]):
    """Reads MySQL or MariaDB as Debezium does: the configuration's class tells which."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DebeziumBinlogConfig)
        super().__init__(config, reader_config, _open_log)


def _open_log(config: DebeziumBinlogConfig, session: LogSession, stored: Stored) -> MySqlLog:
    from connectors.jdbc.log.mysql.reader import MySqlLog  # of drivers that a worker may lack

    headers = EventHeaders(config.connector, config.prefix, str(uuid.uuid4()), extended=config.extended_headers)
    teller = partial(_teller, config, session, headers) if config.tells_statements else _silent
    options = replace(reading_options(config, headers, session), reads_whole_log=config.snapshot_mode == "never")
    return MySqlLog(session, stored, partial(_tables, config), options, teller)


def _silent(_: Database) -> StatementTeller:
    from connectors.jdbc.log.ddl.logged_statements import SILENT  # as above

    return SILENT


def _teller(
    config: DebeziumBinlogConfig, session: LogSession, headers: EventHeaders, database: Database
) -> StatementTeller:
    from connectors.jdbc.debezium.schema_changes.records import SchemaChangeRecords  # as above
    from connectors.jdbc.debezium.schema_changes.schema_changes import SchemaChanges, Scope
    from connectors.jdbc.log.mysql.tables import binlog_source

    source = binlog_source(config.connector)
    records = SchemaChangeRecords(config.prefix, config.connector, source, headers, config.tells_comments)
    scope = Scope(session.chooses, chosen_databases(config), config.tells_own_tables, config.tells_own_databases)
    return SchemaChanges(database, records, scope, config.prefix)


def _tables(
    config: DebeziumBinlogConfig, database: Database, reading: JdbcSourceConfig, server: str
) -> DebeziumBinlogTables:
    from connectors.jdbc.debezium.binlog.tables import DebeziumBinlogTables  # as above

    del server  # The class names itself, whichever server it reads.
    rules = ColumnRules(config.originals, columns_left_out(config))
    return DebeziumBinlogTables(database, reading, config.connector, config.handling, rules)
