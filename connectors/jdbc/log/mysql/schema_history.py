"""Knows which columns tables had at the places of a binary log that does not tell column names. Pure.

The history is numbered: each statement that changes what is known of a chosen table makes a new number. A position of
the log holds the number at its place. The history is stored under a separate source partition, with everything from the
oldest number on that a stored position may have.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from connectors.jdbc.log.binlog.metadata import ColumnMetadata
from connectors.jdbc.log.binlog.packets import Event, TableMap
from connectors.jdbc.log.binlog.position import Place
from connectors.jdbc.log.ddl.columns import PastColumn
from connectors.jdbc.log.ddl.statements import Effects, Known, Then, UnknownTable, effects
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.log.ddl.tokens import Statement
from connectors.jdbc.settings.table_choice import TableName

_MEMBER: Final = "schema_history"
_OTHERS: Final = 1000
"""At most this many tables that are not chosen are remembered. A chosen table may be made LIKE one of them, or one of
them may be renamed to a chosen name.
"""


def history_partition(prefix: str) -> dict[str, object]:
    """Return the source partition of a history. The log's own position has Debezium's partition."""
    return {"server": prefix, "kind": _MEMBER}


@dataclass(frozen=True, slots=True)
class _Change:
    number: int
    tables: Mapping[TableName, Then]
    charsets: Mapping[str, str | None]


class History(Protocol):
    """Knows the columns of tables where the log does not tell them."""

    @property
    def number(self) -> int:
        """Return the number of the latest change of a table that the history knows."""

    def follow(self, event: Event) -> None:
        """Take what a statement does."""

    def told(self, name: TableName, mapped: TableMap, at: Place) -> ColumnMetadata | None:
        """Return the columns of a table at a place, as a log with column names tells them, or None if the table is
        gone.
        """


class NoHistory:
    """Knows no table. It is used for rows of queries, which tell their columns themselves."""

    number = 0

    def follow(self, event: Event) -> None:
        """Do nothing: no history is kept."""

    def told(self, name: TableName, mapped: TableMap, at: Place) -> ColumnMetadata | None:
        """Raise AssertionError: no rows come from the log."""
        del mapped, at
        raise AssertionError(name)


class SchemaHistory:
    """Knows tables at the place up to which statements were followed. Owned by the reading thread."""

    def __init__(
        self, chosen: Callable[[TableName], bool], as_stored: Callable[[PastTable], Then] = lambda table: table
    ) -> None:
        """Begin without tables. The history stores the tables for which `chosen` returns True.

        `as_stored` takes a table as a statement defines it, and returns it as the server keeps it.
        """
        self._chosen = chosen
        self._as_stored = as_stored
        self.number = 0
        """This is the number of the latest change that is known, or 0 if no table was ever known."""
        self.is_unsaved = False
        """True if `offset` has changed since it was last asked for."""
        self._changes: list[_Change] = []
        self._tables: dict[TableName, Then] = {}
        self._others: dict[TableName, Then] = {}
        self._charsets: dict[str, str | None] = {}

    def restore(self, offset: Mapping[str, Any] | None, number: int) -> None:
        """Go on from a stored history, with what it knew at a number."""
        self._changes = [] if offset is None else _read(offset)
        self.rewind(number)

    def rewind(self, number: int) -> None:
        """Go back to what was known at a number; the history becomes empty if it begins later."""
        changes = [change for change in self._changes if change.number <= number]
        self._changes = changes if self._changes and self._changes[-1].number >= number else []
        self.number = number
        self._tables, self._others, self._charsets = {}, {}, {}
        for change in self._changes:
            self._tables |= change.tables
            self._charsets |= change.charsets

    def begin(self, tables: Mapping[TableName, Then], charsets: Mapping[str, str | None]) -> None:
        """Begin anew with tables as the catalog has them."""
        self._tables, self._others, self._charsets = dict(tables), {}, dict(charsets)
        self.number += 1
        self._changes = [_Change(self.number, dict(tables), dict(charsets))]
        self.is_unsaved = True

    @property
    def is_begun(self) -> bool:
        """Return True if anything is known."""
        return bool(self._changes)

    @property
    def tables(self) -> Mapping[TableName, Then]:
        """Return the chosen tables with what is known of them."""
        return self._tables

    def follow(self, statement: Statement) -> Mapping[TableName, Then]:
        """Take note of what a statement does. Return the chosen tables that it changes."""
        known = Known(ChainMap(self._tables, self._others), self._charsets)
        made = effects(statement, known)
        stored = {name: self._as_stored(t) if isinstance(t, PastTable) else t for name, t in made.tables.items()}
        return self._take(Effects(stored, made.charset))

    def learn(self, tables: Mapping[TableName, Then]) -> None:
        """Take chosen tables as the catalog describes them."""
        self._take(Effects(tables))

    def _take(self, made: Effects) -> Mapping[TableName, Then]:
        mine = {name: then for name, then in made.tables.items() if self._chosen(name)}
        for name in made.tables.keys() - mine.keys():
            self._remember(name, made.tables[name])
        changed = {name: then for name, then in mine.items() if then != self._tables.get(name)}
        charsets = {} if made.charset is None else {made.charset.schema: made.charset.charset}
        if changed or charsets:
            self.number += 1
            self._tables |= changed
            self._charsets |= charsets
            self._changes.append(_Change(self.number, changed, charsets))
            self.is_unsaved = True
        return mine

    def _remember(self, name: TableName, then: Then) -> None:
        self._others.pop(name, None)
        if then is not None:
            self._others[name] = then
        if len(self._others) > _OTHERS:
            del self._others[next(iter(self._others))]

    def forget_before(self, number: int) -> None:
        """Forget what was known before a number, as a position with this number is stored."""
        old = [change for change in self._changes if change.number <= number]
        if len(old) < 2:
            return
        tables, charsets = dict(old[0].tables), dict(old[0].charsets)
        for change in old[1:]:
            tables |= change.tables
            charsets |= change.charsets
        tables = {name: then for name, then in tables.items() if then is not None}
        self._changes = [_Change(old[-1].number, tables, charsets), *self._changes[len(old) :]]

    def offset(self) -> dict[str, object]:
        """Return the history as it is stored."""
        self.is_unsaved = False
        text = json.dumps([_as_json(change) for change in self._changes], separators=(",", ":"))
        # The text is compressed, as thousands of tables must fit in a record.
        return {_MEMBER: b64encode(zlib.compress(text.encode(), 9)).decode()}


def _as_json(change: _Change) -> list[object]:
    tables = [[name.schema, name.name, _table_as_json(then)] for name, then in change.tables.items()]
    return [change.number, tables, dict(change.charsets)]


def _table_as_json(then: Then) -> object:
    if then is None:
        return None
    if isinstance(then, UnknownTable):
        return then.why
    return [[list(column) for column in then.columns], list(then.key), then.charset]


def _read(offset: Mapping[str, Any]) -> list[_Change]:
    content = zlib.decompress(b64decode(offset[_MEMBER]))
    return [
        _Change(
            int(number), {TableName(schema, name): _read_table(then) for schema, name, then in tables}, dict(charsets)
        )
        for number, tables, charsets in json.loads(content)
    ]


def _read_table(then: Any) -> Then:
    if then is None:
        return None
    if isinstance(then, str):
        return UnknownTable(then)
    columns, key, charset = then
    made = (PastColumn(name, kind, of, unsigned, tuple(members)) for name, kind, of, unsigned, members in columns)
    return PastTable(tuple(made), tuple(key), charset)
