"""Finds the changes that a statement makes, from its text and from the tables before it. Pure.

Source: records that Debezium's MySQL connector 3.6 wrote of such statements. It records statements on databases, tables
and indexes, but not on views, routines, triggers, users, and no TRUNCATE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from connectors.jdbc.debezium.schema_changes.declared_tables import DeclaredTable, created_table
from connectors.jdbc.debezium.schema_changes.table_memory import TableMemory
from connectors.jdbc.log.ddl.alter import new_name
from connectors.jdbc.log.ddl.tokens import (
    NotUnderstoodError,
    PlacedToken,
    Reader,
    Statement,
    placed_tokens,
)
from connectors.jdbc.settings.table_choice import TableName

CREATE, ALTER, DROP = "CREATE", "ALTER", "DROP"
_KINDS_OF_INDEX: Final = ("unique", "fulltext", "spatial", "online", "offline")


@dataclass(frozen=True, slots=True)
class TableChange:
    """Holds the change of one table. `table` is the table after the statement, or None if it is gone, or not known."""

    type: str
    name: TableName
    table: DeclaredTable | None


@dataclass(frozen=True, slots=True)
class ToldStatement:
    """Holds one statement as a record tells it.

    `tables` are the names in the source block, or None if it is on a database.
    """

    schema: str
    text: str
    changes: tuple[TableChange, ...] = ()
    tables: str | None = ""


@dataclass(slots=True)
class _Reading:
    statement: Statement
    memory: TableMemory
    placed: Sequence[PlacedToken] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.placed = placed_tokens(self.statement)

    def told(self) -> list[ToldStatement]:
        reader = Reader([found.token for found in self.placed])
        if reader.skip("set", "statement"):
            while not reader.is_done and not reader.skip("for"):
                reader.next()
        match reader.word():
            case "alter":
                reader.next()
                return self._alter(reader)
            case "create":
                reader.next()
                return self._create(reader)
            case "drop":
                reader.next()
                return self._drop(reader)
            case "rename":
                reader.next()
                return self._rename(reader)
        return []

    def _whole(self) -> str:
        return self._text(0, len(self.placed))

    def _text(self, begin: int, end: int) -> str:
        """Return the text of some tokens as the statement has it."""
        found = self.placed[begin:end]
        return self.statement.text[found[0].begin : found[-1].end] if found else ""

    def _at(self, reader: Reader) -> int:
        return len(self.placed) - len(reader.rest)

    def _plain(self) -> list[ToldStatement]:
        """Return a statement that changes no table's columns; the record names the session's database."""
        return [ToldStatement(self.statement.schema, self._whole())]

    def _of_database(self, reader: Reader, *, drops: bool = False) -> list[ToldStatement]:
        reader.skip("if", "not", "exists") or reader.skip("if", "exists")
        name = self.statement.folded(reader.name())
        if drops:
            self.memory.drop_database(name)
        else:
            self.memory.create_database(name, reader.rest)
        return [ToldStatement(name, self._whole(), tables=None)]

    def _alter(self, reader: Reader) -> list[ToldStatement]:
        if reader.skip("database") or reader.skip("schema"):
            is_named = not reader.word("default", "character", "charset", "collate", "comment")
            name = self.statement.folded(reader.name()) if is_named else self.statement.schema
            self.memory.alter_database(name, reader.rest)
            return self._plain()
        reader.skip("online")
        reader.skip("ignore")
        if not reader.skip("table"):
            return []
        reader.skip("if", "exists")
        table = self.statement.table(reader)
        if reader.skip("wait"):
            reader.next()
        reader.skip("nowait")
        named = new_name(reader.rest)
        target = self.statement.table(Reader(named)) if named else table
        made = self.memory.altered(table, target, reader.rest, is_mariadb=self.statement.is_mariadb)
        return [self._of_tables(self._whole(), [TableChange(ALTER, target, made)])]

    def _create(self, reader: Reader) -> list[ToldStatement]:
        replaces = reader.skip("or", "replace")
        if reader.skip("database") or reader.skip("schema"):
            return self._of_database(reader)
        while reader.word(*_KINDS_OF_INDEX):
            reader.next()
        if reader.skip("index"):
            return self._plain()
        if not reader.skip("table"):
            return []
        if_absent = reader.skip("if", "not", "exists")
        name = self.statement.table(reader)
        like = Reader(reader.rest[1:]) if reader.word("like", ahead=1) else reader
        if like.skip("like"):
            model = self.memory.known(self.statement.table(like))
            made = None if model is None else replace(model, comment=None)
        else:
            made = created_table(reader, self.memory.charset(name.schema or ""))
        if if_absent and not replaces and self.memory.has_other(name, made):
            return self._plain()
        self.memory.put(name, made)
        return [self._of_tables(self._whole(), [TableChange(CREATE, name, made)])]

    def _drop(self, reader: Reader) -> list[ToldStatement]:
        if reader.skip("database") or reader.skip("schema"):
            return self._of_database(reader, drops=True)
        if reader.skip("online") or reader.word("index"):
            return self._plain()
        if not (reader.skip("table") or reader.skip("tables")):
            return []
        reader.skip("if", "exists")
        head = self._text(0, self._at(reader))
        listed: list[tuple[str, TableChange]] = []
        while not reader.is_done:
            begin = self._at(reader)
            name = self.statement.table(reader)
            listed.append((f"{head} {self._text(begin, self._at(reader))}", TableChange(DROP, name, None)))
            self.memory.drop(name)
            if not reader.skip_mark(","):
                break
        return self._each(listed)

    def _rename(self, reader: Reader) -> list[ToldStatement]:
        if not (reader.skip("table") or reader.skip("tables")):
            return []
        reader.skip("if", "exists")
        listed: list[tuple[str, TableChange]] = []
        while not reader.is_done:
            begin = self._at(reader)
            old = self.statement.table(reader)
            while not reader.is_done and not reader.skip("to"):
                reader.next()
            new = self.statement.table(reader)
            made = self.memory.renamed(old, new)
            listed.append((f"RENAME TABLE {self._text(begin, self._at(reader))}", TableChange(ALTER, new, made)))
            if not reader.skip_mark(","):
                break
        return self._each(listed)

    def _each(self, listed: Sequence[tuple[str, TableChange]]) -> list[ToldStatement]:
        """Return a statement for each table. Its source block names all listed tables of the same database."""
        names: dict[str, set[str]] = {}
        for _, change in listed:
            names.setdefault(change.name.schema or "", set()).add(change.name.name)
        told = []
        for text, change in listed:
            schema = change.name.schema or ""
            told.append(ToldStatement(schema, text, (change,), ",".join(sorted(names[schema]))))
        return told

    @staticmethod
    def _of_tables(text: str, changes: Sequence[TableChange]) -> ToldStatement:
        (change,) = changes
        return ToldStatement(change.name.schema or "", text, (change,), change.name.name)


def told_statements(statement: Statement, memory: TableMemory) -> list[ToldStatement]:
    """Return the records' statements for a statement, and let the memory follow it; none if no database or table
    changes.

    It never raises: the record of a statement that is not understood holds its text only.
    """
    try:
        return _Reading(statement, memory).told()
    except NotUnderstoodError:
        return [ToldStatement(statement.schema, statement.text.strip())]
