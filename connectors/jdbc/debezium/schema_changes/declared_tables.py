"""Reads the columns of a table from CREATE TABLE, and changes them as ALTER TABLE does. Pure.

A table may be known only as it is after the statement. So an action whose result is there already changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from connectors.jdbc.debezium.schema_changes.declared_columns import DeclaredColumn, charset_of, declared_column
from connectors.jdbc.log.ddl.alter import actions, is_no_column, primary_key
from connectors.jdbc.log.ddl.tables import Action, Add, Change, Remove, RenameColumn, SetCharset, SetKey
from connectors.jdbc.log.ddl.tokens import Kind, Reader, Token, outside, parts


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """Holds a table's columns in order, its primary key, and the character set that its text has by default."""

    columns: tuple[DeclaredColumn, ...]
    key: tuple[str, ...] = ()
    charset: str | None = None
    comment: str | None = None

    def altered(self, rest: Sequence[Token], *, is_mariadb: bool) -> DeclaredTable:
        """Return the table as the parts of an ALTER TABLE leave it. NotUnderstoodError: a part is not known here."""
        table = self
        found = list(actions(rest, is_mariadb=is_mariadb))
        if any(isinstance(action, SetCharset) for action in found):
            table = replace(table, charset=table_charset(rest) or table.charset)
        for action in found:
            table = table.behind(action)
        for part in parts(rest):
            table = replace(table, comment=_comment(part) if _is_comment(part) else table.comment)
            reader = Reader(part)
            if reader.skip("add"):
                table = _with_unique(table, [_unique(reader)])
        return _with_key(table)

    def behind(self, action: Action) -> DeclaredTable:
        """Return the table as one part of an ALTER TABLE leaves it."""
        match action:
            case Add(defined, after):
                column = declared_column(list(defined.tokens))
                if action.if_absent and self._place(column.name) is not None:
                    return self
                return self._put(column, column.name, after)
            case Change(old, defined, after):
                return self._put(declared_column(list(defined.tokens)), old, after)
            case Remove(name):
                gone = name.lower()
                columns = tuple(column for column in self.columns if column.name.lower() != gone)
                return replace(self, columns=columns, key=tuple(one for one in self.key if one.lower() != gone))
            case RenameColumn(old, new):
                at = self._place(old)
                if at is None:
                    return self
                return self._put(replace(self.columns[at], name=new, is_key=False), old, None)
            case SetKey(names):
                return replace(self, key=names)
            case SetCharset(converts=True):
                columns = tuple(
                    replace(column, charset=self.charset) if column.has_charset else column for column in self.columns
                )
                return replace(self, columns=columns)
        return self

    def _put(self, column: DeclaredColumn, old: str, after: str | None) -> DeclaredTable:
        """Return the table with a column in the place of `old`, or behind the column `after`, or before all others if
        `after` is empty.
        """
        column = column.in_charset(self.charset)
        key = tuple(column.name if name.lower() == old.lower() else name for name in self.key)
        key = (column.name,) if column.is_key else key
        at = self._place(old)
        # If a column has the new name already, the table is known as later statements left it.
        before = [one.name.lower() for one in self.columns[:at]]
        gone = {old.lower(), column.name.lower()}
        if at is None or column.name.lower() in before:
            at = self._place(column.name)
        others = [one for one in self.columns if one.name.lower() not in gone]
        if after is None:
            place = len(others) if at is None else at
        else:
            names = [one.name.lower() for one in others]
            place = names.index(after.lower()) + 1 if after.lower() in names else 0 if after == "" else len(others)
        return replace(self, columns=(*others[:place], column, *others[place:]), key=key)

    def _place(self, name: str) -> int | None:
        names = [column.name.lower() for column in self.columns]
        return names.index(name.lower()) if name.lower() in names else None


def created_table(reader: Reader, charset: str | None) -> DeclaredTable:
    """Return the table of a CREATE TABLE, from the parenthesis on. `charset` is its database's.

    NotUnderstoodError: it lists no columns.
    """
    listed = reader.enclosed()
    options = reader.rest
    charset = table_charset(options) or charset
    columns: list[DeclaredColumn] = []
    key: tuple[str, ...] = ()
    uniques: list[tuple[str, ...]] = []
    for part in parts(listed):
        key = primary_key(part) or key
        if is_no_column(Reader(part)):
            uniques.append(_unique(Reader(part)))
        else:
            column = declared_column(part).in_charset(charset)
            key = (column.name,) if column.is_key else key
            uniques += [(column.name,)] if column.is_unique else []
            columns.append(column)
    return _with_key(_with_unique(DeclaredTable(tuple(columns), key, charset, _comment(options)), uniques))


def _unique(reader: Reader) -> tuple[str, ...]:
    """Return the columns of [CONSTRAINT name] UNIQUE [KEY] name (...), or none if the tokens are something else."""
    if reader.skip("constraint") and not reader.word("unique"):
        reader.next()
    if not reader.skip("unique"):
        return ()
    while reader.rest and reader.rest[0] != Token(Kind.MARK, "("):
        reader.next()
    return tuple(Reader(part).name() for part in parts(reader.enclosed()))


def _with_unique(table: DeclaredTable, uniques: Sequence[tuple[str, ...]]) -> DeclaredTable:
    """Return the table with a unique key as its primary key, if it has no primary key and the columns hold no NULL."""
    required = {column.name.lower() for column in table.columns if not column.is_optional}
    fit = [names for names in uniques if names and {name.lower() for name in names} <= required]
    return replace(table, key=fit[0]) if fit and not table.key else table


def _is_comment(part: Sequence[Token]) -> bool:
    return bool(Reader(part).word("comment"))


def _with_key(table: DeclaredTable) -> DeclaredTable:
    """Return the table with the columns of its key declared NOT NULL."""
    names = {name.lower() for name in table.key}
    columns = tuple(replace(c, is_optional=c.is_optional and c.name.lower() not in names) for c in table.columns)
    return replace(table, columns=columns)


def table_charset(options: Sequence[Token]) -> str | None:
    """Return the character set in a table's options as it is written, or the one of its collation, or None if they name
    neither.
    """
    reader = Reader(outside(options))
    charset, collation = None, None
    while not reader.is_done and not reader.word("partition"):
        if reader.skip("character", "set") or reader.skip("charset") or reader.skip("char", "set"):
            reader.skip_mark("=")
            charset = reader.next().text
        elif reader.skip("collate"):
            reader.skip_mark("=")
            collation = charset_of(reader.next().text)
        else:
            reader.next()
    return charset or collation


def _comment(options: Sequence[Token]) -> str | None:
    reader = Reader(outside(options))
    while not reader.is_done:
        if reader.skip("comment"):
            reader.skip_mark("=")
            return reader.next().text if not reader.is_done else None
        reader.next()
    return None
