"""Runs the reader of mode=log by Debezium's settings of PostgreSQL, and gives Debezium's form of the records."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from connect.api.config import ConnectorConfig
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.debezium.shared.column_rules import ColumnRules
from connectors.jdbc.debezium.shared.connector import DebeziumConnector
from connectors.jdbc.debezium.shared.headers import EventHeaders
from connectors.jdbc.debezium.shared.translation import columns_left_out, reading_options
from connectors.jdbc.debezium.translation import reader_config
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcSourceConfig

if TYPE_CHECKING:
    from connectors.jdbc.debezium.tables import DebeziumTables
    from connectors.jdbc.log.postgres.reader import PostgresLog


class DebeziumPostgresConnector(DebeziumConnector[DebeziumPostgresConfig]):
    """Reads PostgreSQL as Debezium does, and connects also in `clean_up`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DebeziumPostgresConfig)
        super().__init__(config, reader_config, _open_log)

    @property
    def kept_at_source(self) -> str | None:
        """Return a text that names the slot."""
        return self._reader.kept_at_source

    def clean_up(self, deadline: Deadline) -> str | None:
        """Drop the slot if slot.drop.on.stop says so."""
        return self._reader.clean_up(deadline)


def _open_log(config: DebeziumPostgresConfig, session: LogSession, stored: Stored) -> PostgresLog:
    from connectors.jdbc.debezium.notes import NoteRecords, wanted_prefixes  # of drivers that a worker may lack
    from connectors.jdbc.log.postgres.reader import PostgresLog

    headers = EventHeaders("postgresql", config.prefix, str(uuid.uuid4()), extended=config.extended_headers)
    is_wanted = wanted_prefixes(config.message_prefix_include, config.message_prefix_exclude)
    notes = NoteRecords(f"{config.prefix}.message", config.binary, is_wanted)
    options = replace(reading_options(config, headers, session), moves_slot=config.moves_slot)
    return PostgresLog(session, stored, partial(_tables, config), options, notes)


def _tables(config: DebeziumPostgresConfig, database: Database, reading: JdbcSourceConfig) -> DebeziumTables:
    from connectors.jdbc.debezium.tables import DebeziumTables  # as above

    rules = ColumnRules(config.originals, columns_left_out(config))
    return DebeziumTables(database, reading, config.handling, rules)
