"""Describes a table as it was at a place of the log, and applies ALTER TABLE to it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from connectors.jdbc.log.binlog.metadata import ColumnMetadata
from connectors.jdbc.log.binlog.packets import HISTORY, TableMap
from connectors.jdbc.log.binlog.values import BLOB, ENUM, JSON, SET, STRING
from connectors.jdbc.log.ddl.columns import INTEGERS, OF_TABLE, Definition, PastColumn
from connectors.jdbc.log.ddl.tokens import NotUnderstoodError

_VARCHAR, _VAR_STRING, _GEOMETRY = 15, 253, 255
_STRINGS: Final = frozenset({_VARCHAR, _VAR_STRING, STRING, BLOB})
_STORED: Final[Mapping[str, frozenset[int]]] = {
    "tinyint": frozenset({1}), "smallint": frozenset({2}), "mediumint": frozenset({9}), "int": frozenset({3}),
    "bigint": frozenset({8}), "decimal": frozenset({246}), "float": frozenset({4, 5}), "double": frozenset({4, 5}),
    "date": frozenset({10, 14}), "time": frozenset({11, 19}), "datetime": frozenset({12, 18}),
    "timestamp": frozenset({7, 17}), "year": frozenset({13}), "bit": frozenset({16}), "text": _STRINGS,
    "bytes": _STRINGS, "enum": frozenset({ENUM}), "set": frozenset({SET}), "json": frozenset({JSON, BLOB}),
    "uuid": frozenset({STRING}), "inet4": frozenset({STRING}), "inet6": frozenset({STRING}),
    "geometry": frozenset({_GEOMETRY, BLOB}),
}  # fmt: skip
"""Maps the name of a type to the numbers by which the log may tell the type."""
_WIDE: Final = frozenset({"ucs2", "utf16", "utf16le", "utf32"})
"""In these character sets ASCII letters have other bytes."""


@dataclass(frozen=True, slots=True)
class Add:
    """Adds a column behind the column `after`, or in the first place if that is empty, or at the end if it is None."""

    defined: Definition
    after: str | None = None
    if_absent: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Gives a column another name or type, and puts it behind the column `after`.

    An empty `after` puts it in the first place, and None leaves it in its place.
    """

    old: str
    defined: Definition
    after: str | None = None
    if_present: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes a column."""

    name: str
    if_present: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Gives a column another name and changes nothing else."""

    old: str
    new: str
    if_present: bool = False


@dataclass(frozen=True, slots=True)
class SetKey:
    """Gives the table another primary key."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetCharset:
    """Sets the character set of columns that are added later; with `converts` also that of the present ones."""

    charset: str
    converts: bool = False


Action: TypeAlias = Add | Change | Remove | RenameColumn | SetKey | SetCharset


@dataclass(frozen=True, slots=True)
class PastTable:
    """Holds a table's columns in order, and its primary key.

    `charset` is the one that new columns have by default, or None if it is not known.
    """

    columns: tuple[PastColumn, ...]
    key: tuple[str, ...] = ()
    charset: str | None = None

    def told(self, mapped: TableMap, *, keeps_history: bool) -> ColumnMetadata:
        """Return the columns as a log with names would have told them. NotUnderstoodError: the log has other
        columns.

        With `keeps_history` the server may keep the history of rows in two columns that it does not list.
        """
        columns = self.columns
        if keeps_history and len(mapped.kinds) == len(columns) + len(HISTORY) and mapped.ends_with_history:
            columns = (*columns, *(PastColumn(name, "timestamp") for name in HISTORY))
        if len(mapped.kinds) != len(columns):
            raise NotUnderstoodError(f"the log has {len(mapped.kinds)} columns, and {len(columns)} are known")
        for i, column in enumerate(columns):
            _compare(column, mapped, i)
        names = [column.name for column in columns]
        return ColumnMetadata(
            tuple(names),
            frozenset(i for i, column in enumerate(columns) if column.unsigned),
            {i: column.charset for i, column in enumerate(columns) if column.charset is not None},
            {i: column.members for i, column in enumerate(columns) if column.members},
            tuple(names.index(name) for name in self.key if name in names),
            tuple(column.kind for column in columns),
        )

    def altered(self, actions: Sequence[Action]) -> PastTable:
        """Return the table as the parts of an ALTER TABLE leave it. NotUnderstoodError: the parts do not fit the
        table.
        """
        charsets = [action for action in actions if isinstance(action, SetCharset)]
        table = replace(self, charset=charsets[-1].charset) if charsets else self
        keys = [action.columns for action in actions if isinstance(action, SetKey)]
        table = _with_columns(replace(table, key=keys[-1]) if keys else table, actions)
        if table.charset is not None and any(action.converts for action in charsets):
            if len({action.charset for action in charsets}) > 1:
                raise NotUnderstoodError("two character sets")
            return replace(table, columns=tuple(_converted(column, table.charset) for column in table.columns))
        return table

    def completed(self, defined: Definition) -> PastColumn:
        """Return the column of a definition. It has the table's character set if the definition names none."""
        column = defined.column
        if column.charset != OF_TABLE:
            return column
        if self.charset is None:
            raise NotUnderstoodError("the character set of the database")
        return column.in_charset(self.charset)


def _converted(column: PastColumn, charset: str) -> PastColumn:
    """Return a column as CONVERT TO CHARACTER SET leaves it.

    NotUnderstoodError: MariaDB would take the bytes of its members for other letters.
    """
    made = column.in_charset(charset)
    is_plain = all(member.isascii() for member in column.members) and not {column.charset, charset} & _WIDE
    if column.members and made != column and not is_plain:
        raise NotUnderstoodError(f"the members of {column.name} are converted")
    return made


def _with_columns(table: PastTable, actions: Sequence[Action]) -> PastTable:
    """Return the table with its columns in the order of the server (sql/sql_table.cc, mysql_prepare_alter_table).

    First come the present columns, each in its place, and then, one by one, the columns for which a place is named.
    """
    removed = {action.name.lower() for action in actions if isinstance(action, Remove)}
    renamed = {action.old.lower(): action.new for action in actions if isinstance(action, RenameColumn)}
    changed = {action.old.lower(): action for action in actions if isinstance(action, Change)}
    present = {column.name.lower() for column in table.columns}
    for action in actions:
        _require(action, present)
    columns: list[PastColumn] = []
    for column in table.columns:
        name = column.name.lower()
        if name in removed:
            continue
        change = changed.get(name)
        if change is None:
            columns.append(column._replace(name=renamed.get(name, column.name)))
        elif change.after is None:
            columns.append(table.completed(change.defined))
    for action in actions:
        if isinstance(action, Add):
            if not (action.if_absent and action.defined.column.name.lower() in present):
                _insert(columns, table.completed(action.defined), action.after)
        elif isinstance(action, Change) and action.after is not None and action.old.lower() in present:
            _insert(columns, table.completed(action.defined), action.after)
    names = renamed | {old: change.defined.column.name for old, change in changed.items()}
    return replace(table, columns=tuple(columns), key=_key(table, actions, removed, names))


def _key(table: PastTable, actions: Sequence[Action], removed: set[str], names: Mapping[str, str]) -> tuple[str, ...]:
    defined = [action.defined for action in actions if isinstance(action, Add | Change) and action.defined.is_key]
    if defined:
        return tuple(one.column.name for one in defined)
    if any(isinstance(action, SetKey) for action in actions):
        return table.key
    return tuple(names.get(name.lower(), name) for name in table.key if name.lower() not in removed)


def _require(action: Action, present: set[str]) -> None:
    match action:
        case Remove(name, if_present) | RenameColumn(name, _, if_present) | Change(name, _, _, if_present):
            if not if_present and name.lower() not in present:
                raise NotUnderstoodError(f"column {name} is not known")


def _insert(columns: list[PastColumn], column: PastColumn, after: str | None) -> None:
    if after is None:
        columns.append(column)
    elif not after:
        columns.insert(0, column)
    else:
        places = [i for i, other in enumerate(columns) if other.name.lower() == after.lower()]
        if not places:
            raise NotUnderstoodError(f"column {after} is not known")
        columns.insert(places[0] + 1, column)


def _compare(column: PastColumn, mapped: TableMap, number: int) -> None:
    kind, meta = mapped.kinds[number], mapped.metas[number]
    stored = meta[0] if kind == STRING and meta[0] in {ENUM, SET} else kind
    if stored not in _STORED.get(column.kind, {stored}):
        raise NotUnderstoodError(f"column {column.name} is {column.kind}, and the log has type {stored}")
    if stored in _MEMBER_BYTES and _MEMBER_BYTES[stored](len(column.members)) != meta[1]:
        raise NotUnderstoodError(f"column {column.name} has {len(column.members)} members, and the log another number")
    signs = mapped.unsigned if column.kind in INTEGERS else None
    if signs is not None and (number in signs) != column.unsigned:
        raise NotUnderstoodError(f"column {column.name} has another sign in the log")


def _bytes_of_set(members: int) -> int:
    size = (members + 7) // 8
    return 8 if size > 4 else size


_MEMBER_BYTES: Final[Mapping[int, Callable[[int], int]]] = {
    ENUM: lambda members: 1 if members < 256 else 2,
    SET: _bytes_of_set,
}
