"""Declares what mode=log needs from a database that has a log of changes. Loads no driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connect.lib.deadline import Deadline
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database
    from connectors.jdbc.database.table_shape import TableShape
    from connectors.jdbc.log.bulk.log_bulk import LoggedServer
    from connectors.jdbc.log.shared.log_reader import LogReader
    from connectors.jdbc.log.shared.session import LogSession, Stored
    from connectors.jdbc.settings.config import JdbcSourceConfig


class LogSupport(ABC):
    """Describes a database whose log is read."""

    @abstractmethod
    def reader(self, session: LogSession, stored: Stored) -> LogReader:
        """Return the reader of the log, which begins at the stored offset. It is not connected yet."""

    @abstractmethod
    def bulk(self, config: JdbcSourceConfig) -> LoggedServer:
        """Return the reader of whole tables for a first read beside the log. It is not connected yet."""

    @abstractmethod
    def problems(
        self, database: Database, config: JdbcSourceConfig, chosen: Sequence[TableName]
    ) -> Iterator[ConfigProblem]:
        """Yield each problem that keeps the log from being read, with its fix."""

    @abstractmethod
    def repeats(self, database: Database, table: TableName, shape: TableShape, page_rows: int) -> str | None:
        """Return a text that says which rows come again if a first read is broken off; None if no row does.

        A page of the first read has `page_rows` rows.
        """

    def note(self, database: Database, config: JdbcSourceConfig) -> str | None:
        """Return advice on what to change on the server or in the configuration; None if there is none."""
        del database, config
        return None

    def without_log(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Mapping[TableName, str]:
        """Return the tables whose changes are not in the log, each with the reason and the remedy."""
        del database, config, tables
        return {}

    def kept(self, config: JdbcSourceConfig) -> str | None:
        """Return a name of what the server keeps for this connector, as a replication slot, or None if it keeps
        nothing.
        """
        del config
        return None

    def clean_up(self, config: JdbcSourceConfig, deadline: Deadline) -> str | None:
        """Remove what the server keeps for a deleted connector.

        Return what is left there on purpose, or None if nothing is left.
        """
        del config, deadline
        return None
