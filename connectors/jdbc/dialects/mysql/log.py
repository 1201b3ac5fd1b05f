"""Has the log of MariaDB and MySQL (binlog) read as a replica reads it. Loads the readers when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connectors.jdbc.dialects.generic.log import LogSupport
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database
    from connectors.jdbc.database.table_shape import TableShape
    from connectors.jdbc.log.bulk.log_bulk import LoggedServer
    from connectors.jdbc.log.shared.log_reader import LogReader
    from connectors.jdbc.log.shared.session import LogSession, Stored
    from connectors.jdbc.settings.config import JdbcSourceConfig


class MySqlLogSupport(LogSupport):
    """Reads the log of MariaDB and MySQL."""

    def reader(self, session: LogSession, stored: Stored) -> LogReader:
        """Return the reader of the log."""
        from connectors.jdbc.log.mysql.reader import MySqlLog

        return MySqlLog(session, stored)

    def bulk(self, config: JdbcSourceConfig) -> LoggedServer:
        """Return the reader of whole tables for a first read beside the log."""
        from connectors.jdbc.log.bulk.mysql import MySqlBulk

        return MySqlBulk(config)

    def problems(
        self, database: Database, config: JdbcSourceConfig, chosen: Sequence[TableName]
    ) -> Iterator[ConfigProblem]:
        """Yield the problems that keep the log from being read."""
        from connectors.jdbc.log.mysql import reader

        del config, chosen
        yield from reader.problems(database)

    def without_log(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Mapping[TableName, str]:
        """Return those of the tables whose log is not read, as they have columns of certain types, with the remedy."""
        from connectors.jdbc.log.mysql.catalog import without_log

        del config
        return without_log(database, tables)

    def repeats(self, database: Database, table: TableName, shape: TableShape, page_rows: int) -> str | None:
        """Return the text that rows which are alike come again if a first read is broken off.

        Return None if no row does.
        """
        from connectors.jdbc.log.mysql.first_read_repeats import of_order
        from connectors.jdbc.log.mysql.tables import row_order

        key = shape.primary or shape.unique
        return of_order(table, key, row_order(database, table, shape), page_rows)

    def note(self, database: Database, config: JdbcSourceConfig) -> str | None:
        """Return the advice to have the server log more about its columns; None if it does already."""
        from connectors.jdbc.log.mysql.history import metadata_note, metadata_of

        del config
        return metadata_note(metadata_of(database))
