"""Which rights a configuration lacks in PostgreSQL, MariaDB and MySQL, as statements that give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connect.api.errors import ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.postgres import slot as pg_slot
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableFilter, TableName

_DENIED: Final = re.compile(r"command denied|access denied|\b1142\b|\b1143\b|\b1044\b", re.IGNORECASE)
_DATABASE_DENIED: Final = re.compile(r"Access denied for user ('[^']*'@'[^']*') to database '([^']*)'")
_DOING: Final = "asking for the user's rights"
_OF_TABLES: Final = """
SELECT n.nspname, c.relname, has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_OWNED: Final = """
SELECT has_database_privilege(current_database(), 'CREATE') AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE (n.nspname || '.' || c.relname) = ANY(:names) AND NOT pg_has_role(c.relowner, 'USAGE'))
"""


@dataclass(frozen=True, slots=True)
class MissingRight:
    """`text`: what cannot be done. `statement`: what gives the right. `table`: what it is on; None: on the server."""

    text: str
    statement: str
    table: TableName | None = None


def missing_rights(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> Iterator[MissingRight]:
    """Of these tables, and of what the mode reads besides. Databases of other kinds are not asked."""
    match database.dialect_name:
        case "postgresql":
            yield from _postgres(database, config, tables)
        case "mysql" | "mariadb":
            yield from _mysql(database, config, tables)


def refused_database(error: ConnectError, config: JdbcSourceConfig) -> MissingRight | None:
    """The right to a database of MariaDB or MySQL which refuses the user altogether; None: it is another error."""
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


def _postgres(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> Iterator[MissingRight]:
    user = _quoted(str(database.scalar(sa.text("SELECT current_user"), _DOING)))
    wanted = set(tables)
    for schema, name, may_use, may_read in database.rows(sa.text(_OF_TABLES), _DOING):
        table = TableName(str(schema), str(name))
        if table not in wanted:
            continue
        if not may_use:
            grant = f"GRANT USAGE ON SCHEMA {_quoted(str(schema))} TO {user};"
            yield MissingRight(f"The user may not use the schema {schema}.", grant, table)
        if not may_read:
            grant = f"GRANT SELECT ON {table.quoted} TO {user};"
            yield MissingRight(f"The user may not read table {table.full}.", grant, table)
    if config.mode == "log":
        yield from _postgres_log(database, config, tables, user)


def _postgres_log(
    database: Database, config: JdbcSourceConfig, tables: Sequence[TableName], user: str
) -> Iterator[MissingRight]:
    if not pg_slot.may_replicate(database):
        yield MissingRight("The user may not read the server's log.", f"ALTER ROLE {user} REPLICATION;")
    if pg_slot.has_publication(database, config.publication_name) or config.publication_autocreate != "filtered":
        return
    names = [table.full for table in tables]
    if not database.scalar(sa.text(_OWNED).bindparams(sa.bindparam("names", names)), _DOING):
        listed = ", ".join(table.quoted for table in tables)
        yield MissingRight(
            "The user may not publish the tables; an administrator can, with publication.autocreate.mode=disabled.",
            f"CREATE PUBLICATION {_quoted(config.publication_name)} FOR TABLE {listed};",
        )


def _mysql(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> Iterator[MissingRight]:
    user, host = str(database.scalar(sa.text("SELECT current_user()"), _DOING)).rsplit("@", 1)
    grantee = f"'{_doubled(user)}'@'{_doubled(host)}'"
    # What the user has no right on is not listed at all.
    unseen = [name for names in TableFilter.of(config).unmatched(tables).values() for name in names]
    hidden = [_named(name, database.schema_of_connection) for name in unseen if re.fullmatch(r"[\w.$`-]+", name)]
    for table in [*tables, *hidden]:
        if _is_denied(database, table):
            grant = f"GRANT SELECT ON {_backticked(*filter(None, table))} TO {grantee};"
            yield MissingRight(f"The user may not read table {table.full}.", grant, table)
    if config.mode == "log":
        yield from _mysql_log(database, grantee)


def _mysql_log(database: Database, grantee: str) -> Iterator[MissingRight]:
    asked = sa.text("SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = :grantee")
    has = {str(row[0]).upper() for row in database.rows(asked.bindparams(grantee=grantee), _DOING)}
    is_mariadb = database.is_mariadb
    for needed in ("REPLICATION SLAVE", "BINLOG MONITOR" if is_mariadb else "REPLICATION CLIENT"):
        # MariaDB had the second one under MySQL's name before 10.5.
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _backticked(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def _doubled(text: str) -> str:
    return text.replace("'", "''")
