"""Remembers the tables and the databases' character sets that statements change; asks the server for unknown tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from connectors.jdbc.debezium.schema_changes.declared_tables import DeclaredTable, table_charset
from connectors.jdbc.log.ddl.tokens import NotUnderstoodError, Token
from connectors.jdbc.settings.table_choice import TableName

Ask = Callable[[TableName], DeclaredTable | None]
"""Returns a table as the server has it now, or None if there is no such table."""


class TableMemory:
    """Follows the statements of one log. Owned by the reading thread.

    A table that was not seen is asked for, so it may be known as later statements left it.
    """

    def __init__(self, ask: Ask, charsets: Mapping[str, str], charset: str) -> None:
        """Take the function that asks the server for a table, and the character sets of databases.

        `charset` is the character set of databases that are made without naming one.
        """
        self._ask = ask
        self._charsets = dict(charsets)
        self._charset = charset
        self._tables: dict[TableName, DeclaredTable | None] = {}

    def known(self, name: TableName) -> DeclaredTable | None:
        """Return a table, or None if there is none."""
        if name not in self._tables:
            self._tables[name] = self._ask(name)
        return self._tables[name]

    def charset(self, schema: str) -> str:
        """Return the character set that tables of a database have by default."""
        return self._charsets.get(schema, self._charset)

    def has_other(self, name: TableName, made: DeclaredTable | None) -> bool:
        """Return True if a table exists that has other columns than `made`: IF NOT EXISTS leaves such a table as it is.

        A table that was never seen may have been made by this very statement.
        """
        seen = self._tables.get(name)
        now = self.known(name) if seen is None else seen
        if now is None or made is None:
            return False
        return seen is not None or [c.name for c in now.columns] != [c.name for c in made.columns]

    def put(self, name: TableName, table: DeclaredTable | None) -> None:
        """Remember a table as it is from now on."""
        self._tables[name] = table

    def drop(self, name: TableName) -> None:
        """Take note that a table is gone."""
        self._tables[name] = None

    def renamed(self, old: TableName, new: TableName) -> DeclaredTable | None:
        """Give a table another name, and return it, or None if it is not known."""
        table = self.known(old) or self.known(new)
        self._tables[old], self._tables[new] = None, table
        return table

    def altered(
        self, old: TableName, new: TableName, rest: Sequence[Token], *, is_mariadb: bool
    ) -> DeclaredTable | None:
        """Take the parts of an ALTER TABLE, which may give the table another name."""
        before = self.known(old) or (self.known(new) if new != old else None)
        made = before
        if before is not None:
            try:
                made = before.altered(rest, is_mariadb=is_mariadb)
            except NotUnderstoodError:
                # The parts are not understood, so the server is asked for the result.
                made = self._ask(new)
        if new != old:
            self._tables[old] = None
        self._tables[new] = made
        return made

    def create_database(self, name: str, options: Sequence[Token]) -> None:
        """Take a database as CREATE DATABASE makes it."""
        self._charsets[name] = table_charset(options) or self._charset

    def alter_database(self, name: str, options: Sequence[Token]) -> None:
        """Take what ALTER DATABASE says of a database."""
        self._charsets[name] = table_charset(options) or self.charset(name)

    def drop_database(self, name: str) -> None:
        """Take note that a database is gone with all its tables."""
        self._charsets.pop(name, None)
        for table in [table for table in self._tables if table.schema == name]:
            self._tables[table] = None
