"""Has PostgreSQL's log read by a replication slot. Loads the readers when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connect.lib.deadline import Deadline
from connectors.jdbc.dialects.generic.log import LogSupport
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database
    from connectors.jdbc.database.table_shape import TableShape
    from connectors.jdbc.log.bulk.log_bulk import LoggedServer
    from connectors.jdbc.log.shared.log_reader import LogReader
    from connectors.jdbc.log.shared.session import LogSession, Stored
    from connectors.jdbc.settings.config import JdbcSourceConfig


class PostgresLogSupport(LogSupport):
    """Reads the log of PostgreSQL."""

    def reader(self, session: LogSession, stored: Stored) -> LogReader:
        """Return the reader of the log."""
        from connectors.jdbc.log.postgres.reader import PostgresLog

        return PostgresLog(session, stored)

    def bulk(self, config: JdbcSourceConfig) -> LoggedServer:
        """Return the reader of whole tables for a first read beside the log."""
        from connectors.jdbc.log.bulk.postgres import PostgresBulk

        return PostgresBulk(config)

    def problems(
        self, database: Database, config: JdbcSourceConfig, chosen: Sequence[TableName]
    ) -> Iterator[ConfigProblem]:
        """Yield the problems that keep the log from being read."""
        from connectors.jdbc.log.postgres import slot_setup

        yield from slot_setup.problems(database, config, chosen)

    def note(self, database: Database, config: JdbcSourceConfig) -> str | None:
        """Return why no standby has the slot, where slot.failover asks for it."""
        from connectors.jdbc.log.postgres import slot_setup

        return slot_setup.why_no_standby_has_the_slot(database, config)

    def repeats(self, database: Database, table: TableName, shape: TableShape, page_rows: int) -> str | None:
        """Return the text that rows of a table without a key come again if a first read is broken off; else None."""
        from connectors.jdbc.log.shared.repeated_rows import of_key

        del database
        return of_key(table, shape.primary or shape.unique, page_rows)

    def without_log(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Mapping[TableName, str]:
        """Return those of the tables whose changes are not in the log by their names, with the remedy."""
        from connectors.jdbc.log.postgres.unlogged import without_log

        return without_log(database, config, tables)

    def kept(self, config: JdbcSourceConfig) -> str | None:
        """Return the name of the replication slot that the server keeps for this connector."""
        return f"replication slot {config.slot_name}"

    def clean_up(self, config: JdbcSourceConfig, deadline: Deadline) -> str | None:
        """Drop the slot if slot.drop.on.delete says so. Return what stays on the server, or None if nothing stays."""
        from connectors.jdbc.log.postgres.cleanup import clean_up

        return clean_up(config, deadline)
