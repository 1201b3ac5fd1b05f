"""What mode=log asks of a database that has a log. Loads no driver."""

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
        """Return what reads the log, from where the stored offset says. Connect to nothing."""

    @abstractmethod
    def bulk(self, config: JdbcSourceConfig) -> LoggedServer:
        """Return what reads tables in bulk beside the log. Connect to nothing."""

    @abstractmethod
    def problems(
        self, database: Database, config: JdbcSourceConfig, chosen: Sequence[TableName]
    ) -> Iterator[ConfigProblem]:
        """Yield what keeps the log from being read, each with its fix."""

    @abstractmethod
    def repeats(self, database: Database, table: TableName, shape: TableShape, page_rows: int) -> str | None:
        """Return which rows come again where a first read is broken off; None: each comes once."""

    def note(self, database: Database, config: JdbcSourceConfig) -> str | None:
        """Return what a person should change on the server or in the configuration; None: nothing."""
        del database, config
        return None

    def without_log(self, database: Database, tables: Sequence[TableName]) -> Mapping[TableName, str]:
        """Return those of the tables that the log does not tell of: why, and what to do."""
        del database, tables
        return {}

    def kept(self, config: JdbcSourceConfig) -> str | None:
        """Return what the server keeps for who reads its log; None: nothing."""
        del config
        return None

    def clean_up(self, config: JdbcSourceConfig, deadline: Deadline) -> str | None:
        """Let go of what is kept; return what stays on purpose."""
        del config, deadline
        return None
