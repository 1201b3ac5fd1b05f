"""Tells which rights a configuration lacks in MariaDB and MySQL, as statements that give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connect.api.errors import ConnectError
from connectors.jdbc.dialects.generic.rights import MissingRight, Rights
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableFilter, TableName

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_DENIED: Final = re.compile(r"command denied|access denied|\b1142\b|\b1143\b|\b1044\b", re.IGNORECASE)
_DATABASE_DENIED: Final = re.compile(r"Access denied for user ('[^']*'@'[^']*') to database '([^']*)'")
_DOING: Final = "asking for the user's rights"


class MySqlRights(Rights):
    """Finds the rights that a user of MariaDB and MySQL lacks."""

    def missing(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Iterator[MissingRight]:
        """Yield the rights that the user lacks on these tables, and those that the mode needs on the server."""
        user, host = str(database.scalar(sa.text("SELECT current_user()"), _DOING)).rsplit("@", 1)
        grantee = f"'{_doubled(user)}'@'{_doubled(host)}'"
        # The server does not list tables on which the user has no right, so the configuration's names are tried.
        unseen = [name for names in TableFilter.of(config).unmatched(tables).values() for name in names]
        hidden = [_named(name, database.schema_of_connection) for name in unseen if re.fullmatch(r"[\w.$`-]+", name)]
        for table in [*tables, *hidden]:
            if _is_denied(database, table):
                grant = f"GRANT SELECT ON {_backticked(*filter(None, table))} TO {grantee};"
                yield MissingRight(f"The user may not read table {table.full}.", grant, table)
        if config.mode == "log":
            yield from _log_rights(database, grantee)

    def refused_database(self, error: ConnectError, config: JdbcSourceConfig) -> MissingRight | None:
        """Return the missing right if `error` says that the user may not use the database at all; else None."""
        found = _DATABASE_DENIED.search(error.message)
        if found is None:
            return None
        user, schema = found.groups()
        named = [name for name in TableFilter.of(config).whitelist if "." not in name]
        statements = [f"GRANT SELECT ON {_backticked(schema, name)} TO {user};" for name in named]
        return MissingRight(
            f"The user {user} may not use the database {schema}.",
            " ".join(statements) or f"GRANT SELECT ON {_backticked(schema)}.* TO {user};",
        )


def _log_rights(database: Database, grantee: str) -> Iterator[MissingRight]:
    asked = sa.text("SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = :grantee")
    has = {str(row[0]).upper() for row in database.rows(asked.bindparams(grantee=grantee), _DOING)}
    is_mariadb = database.is_mariadb
    for needed in ("REPLICATION SLAVE", "BINLOG MONITOR" if is_mariadb else "REPLICATION CLIENT"):
        # Before MariaDB 10.5 the second right had the name that MySQL has for it.
        if needed not in has and not (needed == "BINLOG MONITOR" and "REPLICATION CLIENT" in has):
            yield MissingRight(
                f"The user lacks {needed}, without which the binary log cannot be read.",
                f"GRANT {needed} ON *.* TO {grantee};",
            )


def _is_denied(database: Database, table: TableName) -> bool:
    schema = None if table.schema is None else quoted_name(table.schema, True)
    relation = sa.table(quoted_name(table.name, True), schema=schema)
    try:
        database.rows(sa.select(sa.literal(1)).select_from(relation).limit(0), f"reading table {table.full}")
    except ConnectError as error:
        return _DENIED.search(error.message) is not None
    finally:
        database.end_transaction()
    return False


def _named(text: str, schema: str | None) -> TableName:
    before, _, name = text.replace("`", "").rpartition(".")
    return TableName(before or schema, name)


def _backticked(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def _doubled(text: str) -> str:
    return text.replace("'", "''")
