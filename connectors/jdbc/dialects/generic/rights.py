"""Tells which rights a configuration lacks in a database, as statements that give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connect.api.errors import ConnectError
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database


@dataclass(frozen=True, slots=True)
class MissingRight:
    """Holds a right that the user lacks.

    `text` says what the user cannot do, and `statement` gives the right. `table` is the table that the right is on, or
    None if it is a right on the server.
    """

    text: str
    statement: str
    table: TableName | None = None


class Rights:
    """Finds no missing rights, as it is not known how to ask for them."""

    def missing(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Iterator[MissingRight]:
        """Yield the rights that the user lacks on these tables, and on what else the mode needs to read."""
        del database, config, tables
        yield from ()

    def refused_database(self, error: ConnectError, config: JdbcSourceConfig) -> MissingRight | None:
        """Return the missing right if `error` says that the user may not use the database at all; else None."""
        del error, config
        return None
