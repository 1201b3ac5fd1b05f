"""Finds the tables that the connector's user may not read, with the server's reason. Asks the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.query import every_column
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

FIX = (
    "Grant SELECT on it. A first read that is over does not come to it then: reset the connector's offsets where the "
    "rows that it has by then are wanted."
)


def without_right(database: Database, tables: Sequence[TableName], config: JdbcSourceConfig) -> Mapping[TableName, str]:
    """Return the tables that cannot be read, each with the reason and the fix. RetriableError: the server cannot say
    now.
    """
    found = {}
    for table in tables:
        try:
            database.rows(every_column(table, quote=config.quotes_identifiers), f"reading table {table.full}")
        except RetriableError:
            raise
        except ConnectError as error:
            found[table] = f"{error.message} {FIX}"
        finally:
            database.end_transaction()
    return found
