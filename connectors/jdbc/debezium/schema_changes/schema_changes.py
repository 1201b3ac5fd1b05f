"""Makes records of a server's statements and tables for the schema changes topic. Owned by the reading thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from connect import __version__
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.schema_changes.declared_tables import DeclaredTable, created_table
from connectors.jdbc.debezium.schema_changes.records import SchemaChangeRecords
from connectors.jdbc.debezium.schema_changes.table_memory import TableMemory
from connectors.jdbc.debezium.schema_changes.told_statements import (
    CREATE,
    DROP,
    TableChange,
    ToldStatement,
    told_statements,
)
from connectors.jdbc.log.binlog.packets import Event
from connectors.jdbc.log.binlog.position import BinlogPosition
from connectors.jdbc.log.ddl.logged_statements import LoggedStatements, StatementPlace
from connectors.jdbc.log.ddl.tokens import NotUnderstoodError, Reader, Statement, likely_tokens
from connectors.jdbc.settings.table_choice import TableName

_log = logging.getLogger(__name__)
_BUILT_IN: Final = ("mysql", "information_schema", "performance_schema", "sys")
_TABLES: Final = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') "
    "AND table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') ORDER BY 1, 2"
)
_SCHEMATA: Final = (
    "SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata"
)
_SERVER: Final = "SELECT @@global.character_set_server, @@global.collation_server"


@dataclass(frozen=True, slots=True)
class Scope:
    """Tells which statements become records.

    `captured` selects the tables that the connector reads, and `databases` the databases that it reads. With
    `only_tables` or `only_databases` no statements about others become records.
    """

    captured: Callable[[TableName], bool]
    databases: Callable[[str], bool]
    only_tables: bool = False
    only_databases: bool = False

    def narrowed(self, told: ToldStatement) -> ToldStatement | None:
        """Return a statement without the changes that do not become records, or None if none of its changes become
        records.
        """
        is_own = not told.schema or self.databases(told.schema)
        is_plain = not told.changes and told.tables is not None
        if told.schema in _BUILT_IN or (not is_own and (self.only_databases or is_plain)):
            return None
        if not self.only_tables:
            return told
        changes = tuple(change for change in told.changes if self.captured(change.name))
        return replace(told, changes=changes) if changes else None

    def reads(self, name: TableName) -> bool:
        """Return True if a first read makes a record of the table."""
        if self.only_tables:
            return self.captured(name)
        return not self.only_databases or self.databases(name.schema or "")


class SchemaChanges:
    """Makes the records of one connector while it reads one log."""

    def __init__(self, database: Database, records: SchemaChangeRecords, scope: Scope, name: str) -> None:
        """Connect to nothing. `name` is the connector's name in the source block."""
        self._database = database
        self._records = records
        self._scope = scope
        self._logged = LoggedStatements(database)
        self._constant = {"version": __version__, "connector": records.connector, "name": name}
        self._memory_of_log: TableMemory | None = None

    def of_snapshot(self, here: BinlogPosition) -> Batch | None:
        """Return records of the databases and tables as they are, as if statements made each of them now."""
        self._memory_of_log = self._new_memory()
        now_us = time.time_ns() // 1000
        source = {
            **self._constant, "snapshot": "true", "ts_ms": now_us // 1000, "ts_us": now_us, "ts_ns": now_us * 1000,
            "server_id": 0, "file": here.file, "pos": here.pos, "row": 0,
        }  # fmt: skip
        return self._records.batch(list(self._first_statements(self._memory_of_log)), source)

    def of_statement(self, event: Event, place: StatementPlace) -> Batch | None:
        """Return records of a statement of the log.

        Return None if it changes no database or table that becomes a record.
        """
        narrowed = map(self._scope.narrowed, told_statements(self._logged.of(event), self._memory))
        told = [one for one in narrowed if one is not None]
        # Events of rows have a time in microseconds; Debezium's record of a statement has whole milliseconds.
        ms = place.at_us // 1000
        source = {
            **self._constant, "snapshot": "false", "ts_ms": ms, "ts_us": ms * 1000,
            "ts_ns": ms * 1_000_000, "server_id": event.server_id, "gtid": place.gtid, "file": place.file,
            "pos": event.start, "row": 0, "thread": None if place.thread < 0 else place.thread,
        }  # fmt: skip
        return self._records.batch(told, source)

    @property
    def _memory(self) -> TableMemory:
        if self._memory_of_log is None:
            self._memory_of_log = self._new_memory()
            self._database.end_transaction()
        return self._memory_of_log

    def _new_memory(self) -> TableMemory:
        charsets = {name: charset for name, (charset, _) in self._schemata().items()}
        return TableMemory(self._asked, charsets, self._server()[0])

    def _server(self) -> tuple[str, str]:
        ((charset, collation),) = self._database.rows(sa.text(_SERVER), "asking for settings")
        return str(charset), str(collation)

    def _schemata(self) -> Mapping[str, tuple[str, str]]:
        found = self._database.rows(sa.text(_SCHEMATA), "reading the character sets of databases")
        return {str(name): (str(charset), str(collation)) for name, charset, collation in found}

    def _first_statements(self, memory: TableMemory) -> Iterator[ToldStatement]:
        """Yield the statements that Debezium tells of its first read: they drop the tables and databases and make them
        anew.
        """
        rows = self._database.rows(sa.text(_TABLES), "listing the tables of all databases")
        names = [name for row in rows if self._scope.reads(name := TableName(str(row[0]), str(row[1])))]
        charset, collation = self._server()
        yield ToldStatement("", f"SET character_set_server={charset}, collation_server={collation}", tables=None)
        for name in names:
            yield ToldStatement(
                name.schema or "", f"DROP TABLE IF EXISTS {_quoted(name)}", (TableChange(DROP, name, None),), name.name
            )
        for schema in dict.fromkeys(name.schema or "" for name in names):
            charset, collation = self._schemata()[schema]
            texts = (
                f"DROP DATABASE IF EXISTS `{schema}`",
                f"CREATE DATABASE `{schema}` CHARSET {charset} COLLATE {collation}",
                f"USE `{schema}`",
            )
            yield from (ToldStatement(schema, text, tables=None) for text in texts)
            yield from self._created(memory, [name for name in names if name.schema == schema])

    def _created(self, memory: TableMemory, names: Sequence[TableName]) -> Iterator[ToldStatement]:
        for name in names:
            text = self._definition(name)
            if text is not None:
                table = self._table(text, memory.charset(name.schema or ""))
                memory.put(name, table)
                yield ToldStatement(name.schema or "", text, (TableChange(CREATE, name, table),), name.name)

    def _definition(self, name: TableName) -> str | None:
        """Return the CREATE TABLE that the server writes of a table.

        Return None if it is gone, or the user may not see it.
        """
        # Colons are escaped, as a colon would begin a parameter.
        asked = sa.text(f"SHOW CREATE TABLE {_quoted(name)}".replace(":", "\\:"))
        try:
            return str(self._database.rows(asked, f"reading the definition of table {name.full}")[0][1])
        except RetriableError:
            raise
        except ConnectError as error:
            _log.debug("The columns of table %s are not told: %s", name.full, error.message)
            return None

    def _asked(self, name: TableName) -> DeclaredTable | None:
        """Return a table as it is now."""
        text = self._definition(name)
        self._database.end_transaction()
        return None if text is None else self._table(text, None)

    def _table(self, text: str, charset: str | None) -> DeclaredTable | None:
        reader = Reader(likely_tokens(Statement(text, is_mariadb=self._database.is_mariadb)))
        try:
            reader.skip("create")
            reader.skip("table")
            reader.name()
            return created_table(reader, charset)
        except NotUnderstoodError as error:
            _log.warning("A definition of a table is not understood, and its columns are not told: %s", error)
            return None


def _quoted(name: TableName) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in (name.schema or "", name.name))
