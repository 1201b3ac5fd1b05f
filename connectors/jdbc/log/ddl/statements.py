"""Finds which tables the statements of a binary log change, and what becomes of their columns. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from connectors.jdbc.log.ddl.alter import actions, is_no_column, new_name, primary_key, table_charset
from connectors.jdbc.log.ddl.columns import definition
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.log.ddl.tokens import (
    Kind,
    NotUnderstoodError,
    Reader,
    Statement,
    Token,
    likely_tokens,
    parts,
    tokens,
)
from connectors.jdbc.settings.table_choice import TableName

_OPENED: Final = Token(Kind.MARK, "(")


@dataclass(frozen=True, slots=True)
class UnknownTable:
    """Stands for a table whose columns are not known, with the reason."""

    why: str


Then: TypeAlias = PastTable | UnknownTable | None
"""This is what is known of a table at a place of the log, or None if the table does not exist."""


@dataclass(frozen=True, slots=True)
class SchemaCharset:
    """Holds the character set that new tables of a database have, or None if it is not known."""

    schema: str
    charset: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """Holds what is known of tables, and of the character sets of databases, before a statement."""

    tables: Mapping[TableName, Then]
    charsets: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Effects:
    """Holds what a statement makes of tables, and of a database's character set."""

    tables: Mapping[TableName, Then]
    charset: SchemaCharset | None = None


_NOTHING: Final = Effects({})


def effects(statement: Statement, known: Known) -> Effects:
    """Return what a statement does to tables, including unknown ones.

    It never raises: the tables of a statement that is not understood become UnknownTable.
    """
    reading = _Reading(statement, known)
    try:
        return reading.read(Reader(tokens(statement)))
    except NotUnderstoodError as error:
        untold = reading.untold(error)
    try:
        named = reading.read(Reader(likely_tokens(statement))).tables
    except NotUnderstoodError:
        # The statement ends before it names a table.
        return _NOTHING
    return Effects(dict.fromkeys(named, untold))


class _Reading:
    """Reads one statement and finds what it does to tables."""

    def __init__(self, statement: Statement, known: Known) -> None:
        self._statement = statement
        self._known = known

    def read(self, reader: Reader) -> Effects:
        """Return what the statement does. Raise NotUnderstoodError when it names no table where it should."""
        if reader.skip("set", "statement"):
            while not reader.is_done and not reader.skip("for"):
                reader.next()
        match reader.word():
            case "alter":
                return self._alter(reader)
            case "create":
                return self._create(reader)
            case "drop":
                return self._drop(reader)
            case "rename":
                return self._rename(reader)
        return _NOTHING

    def _alter(self, reader: Reader) -> Effects:
        reader.next()
        if reader.skip("database") or reader.skip("schema"):
            return self._schema(reader)
        reader.skip("online")
        reader.skip("ignore")
        if not reader.skip("table"):
            return _NOTHING
        reader.skip("if", "exists")
        table = self._statement.table(reader)
        if reader.skip("wait"):
            reader.next()
        reader.skip("nowait")
        named = new_name(reader.rest)
        target = self._statement.table(Reader(named)) if named else table
        made = self._altered(table, reader.rest)
        return Effects({table: None, target: made} if target != table else {table: made})

    def _altered(self, table: TableName, rest: Sequence[Token]) -> Then:
        before = self._known.tables.get(table)
        if before is None:
            return UnknownTable("it was not seen before it was altered")
        try:
            found = list(actions(rest, is_mariadb=self._statement.is_mariadb))
            if isinstance(before, UnknownTable):
                # A statement that does nothing to columns tells nothing about them either.
                return before
            return before.altered(found)
        except NotUnderstoodError as error:
            return self.untold(error)

    def untold(self, error: NotUnderstoodError) -> UnknownTable:
        """Return what stands for the statement's tables if it is not understood."""
        text = " ".join(self._statement.text.split())
        return UnknownTable(f"this statement is not understood here ({error}): {text[:300]}")

    def _create(self, reader: Reader) -> Effects:
        reader.next()
        replaces = reader.skip("or", "replace")
        if reader.skip("database") or reader.skip("schema"):
            return self._schema(reader)
        if not reader.skip("table"):
            return _NOTHING
        if_absent = reader.skip("if", "not", "exists")
        table = self._statement.table(reader)
        before = self._known.tables.get(table)
        if if_absent and before is not None and not replaces:
            return _NOTHING
        try:
            return Effects({table: self._created(table, reader)})
        except NotUnderstoodError as error:
            return Effects({table: self.untold(error)})

    def _created(self, table: TableName, reader: Reader) -> Then:
        like = Reader(reader.enclosed()) if reader.rest[:1] == [_OPENED] and reader.word("like", ahead=1) else reader
        if like.skip("like"):
            model = self._statement.table(like)
            found = self._known.tables.get(model)
            return found or UnknownTable(f"it was made like {model.full}, which was not seen before")
        columns = reader.enclosed()
        charset = table_charset(reader.rest) or self._known.charsets.get(table.schema or "")
        if _has(reader.rest, "select"):
            raise NotUnderstoodError("columns of a query")
        made = PastTable((), charset=charset)
        key: tuple[str, ...] = ()
        found_columns = []
        for part in parts(columns):
            key = primary_key(part) or key
            if is_no_column(Reader(part)):
                continue
            defined = definition(part, is_mariadb=self._statement.is_mariadb)
            key = (defined.column.name,) if defined.is_key else key
            found_columns.append(made.completed(defined))
        return PastTable(tuple(found_columns), key, charset)

    def _drop(self, reader: Reader) -> Effects:
        reader.next()
        if reader.skip("database") or reader.skip("schema"):
            reader.skip("if", "exists")
            schema = self._statement.folded(reader.name())
            return Effects({table: None for table in self._known.tables if table.schema == schema})
        if not (reader.skip("table") or reader.skip("tables")):
            return _NOTHING
        reader.skip("if", "exists")
        return Effects({self._statement.table(Reader(part)): None for part in parts(reader.rest)})

    def _rename(self, reader: Reader) -> Effects:
        reader.next()
        if not (reader.skip("table") or reader.skip("tables")):
            return _NOTHING
        reader.skip("if", "exists")
        made: dict[TableName, Then] = {}
        for part in parts(reader.rest):
            pair = Reader(part)
            old = self._statement.table(pair)
            while not pair.is_done and not pair.skip("to"):
                pair.next()
            new = self._statement.table(pair)
            before = made[old] if old in made else self._known.tables.get(old)
            made[old] = None
            made[new] = before or UnknownTable(f"it was {old.full} before, which was not seen")
        return Effects(made)

    def _schema(self, reader: Reader) -> Effects:
        reader.skip("if", "not", "exists") or reader.skip("if", "exists")
        is_named = not reader.word("default", "character", "charset", "collate", "comment")
        schema = self._statement.folded(reader.name()) if is_named and not reader.is_done else self._statement.schema
        try:
            charset = table_charset(reader.rest)
        except NotUnderstoodError:
            charset = None
        return Effects({}, SchemaCharset(schema, charset))


def _has(found: Sequence[Token], word: str) -> bool:
    return any(token.kind is Kind.WORD and token.text.lower() == word for token in found)
