"""Tells the sink what is particular to PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.writing import Writing
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones

_LONGEST = 63
"""The server cuts off the end of names that have more bytes than this."""

_LATE_KEYS: Final = """
SELECT ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey)),
  format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s;', conrelid::regclass, conname, conname,
    regexp_replace(pg_get_constraintdef(oid), ' DEFERRABLE( INITIALLY DEFERRED)?$', ''))
FROM pg_catalog.pg_constraint WHERE conrelid = to_regclass(:quoted) AND contype IN ('p', 'u') AND condeferrable
"""


class PostgresWriting(Writing):
    """Describes PostgreSQL for the sink."""

    mark = '"'
    copy = "CREATE TABLE {made} (LIKE {real} INCLUDING ALL)"
    may_create = "SELECT has_schema_privilege(coalesce(:schema, current_schema()), 'CREATE')"

    def column_problem(self, name: str) -> str | None:
        """Return why a new column cannot have this name. The server cuts a long name, so that no field matches it."""
        is_long = len(name.encode()) > _LONGEST
        return f"has more than {_LONGEST} bytes" if is_long else super().column_problem(name)

    def sql(self, zones: Zones) -> SinkStatements:
        """Return the maker of the statements that write."""
        from connectors.jdbc.dialects.postgres.statements import PostgresStatements

        return PostgresStatements(zones)

    def table(self, name: TableName, *, keeps_case: bool) -> TableName:
        """Return the name that a table gets on the server: cut to 63 bytes, and in lower case unless it is quoted."""
        schema, own = name.schema, name.name.encode()[:_LONGEST].decode(errors="ignore")
        return TableName(schema, own) if keeps_case else TableName(schema and schema.lower(), own.lower())

    def column(self, name: str, *, keeps_case: bool) -> str:
        """Return the name that a new column gets: in lower case unless it is quoted."""
        return name if keeps_case else name.lower()

    def user(self, name: str) -> str:
        """Return the current user's name as a GRANT takes it."""
        return '"' + name.replace('"', '""') + '"'

    def check_constraints(self, connection: sa.Connection) -> None:
        """Check every constraint of the transaction now and not at its end."""
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")

    def late_keys(self, connection: sa.Connection, table: TableName) -> Mapping[frozenset[str], str]:
        """Return the DEFERRABLE keys, which ON CONFLICT does not take; each maps to the statement that mends it."""
        found = connection.execute(sa.text(_LATE_KEYS), {"quoted": table.quoted})
        return {frozenset(columns): statement for columns, statement in found}
