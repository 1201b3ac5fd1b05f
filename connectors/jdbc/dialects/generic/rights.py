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
    """Holds a right that lacks.

    `text`: what cannot be done. `statement`: what gives the right. `table`: what it is on; None: on the server.
    """

    text: str
    statement: str
    table: TableName | None = None


class Rights:
    """Asks no database that is not known."""

    def missing(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Iterator[MissingRight]:
        """Yield the rights that lack on these tables, and on what the mode reads besides."""
        del database, config, tables
        yield from ()

    def refused_database(self, error: ConnectError, config: JdbcSourceConfig) -> MissingRight | None:
        """Return the right to a database that refuses the user altogether; None: it is another error."""
        del error, config
        return None
