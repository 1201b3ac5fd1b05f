"""Tells which rights a configuration lacks in PostgreSQL, as statements that give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.rights import MissingRight, Rights
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

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


class PostgresRights(Rights):
    """Finds the rights that a user of PostgreSQL lacks."""

    def missing(
        self, database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
    ) -> Iterator[MissingRight]:
        """Yield the rights that the user lacks on these tables, and those that mode=log needs."""
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
            yield from _log_rights(database, config, tables, user)


def _log_rights(
    database: Database, config: JdbcSourceConfig, tables: Sequence[TableName], user: str
) -> Iterator[MissingRight]:
    from connectors.jdbc.log.postgres import publication, slot_setup  # which the other modes do without

    if not slot_setup.may_replicate(database):
        yield MissingRight("The user may not read the server's log.", f"ALTER ROLE {user} REPLICATION;")
    if publication.has_publication(database, config.publication_name) or config.publication_autocreate != "filtered":
        return
    names = [table.full for table in tables]
    if not database.scalar(sa.text(_OWNED).bindparams(sa.bindparam("names", names)), _DOING):
        listed = ", ".join(table.quoted for table in tables)
        root = publication.with_root(database, ())
        yield MissingRight(
            "The user may not publish the tables; an administrator can, with publication.autocreate.mode=disabled.",
            f"CREATE PUBLICATION {_quoted(config.publication_name)} FOR TABLE {listed}{root};",
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
