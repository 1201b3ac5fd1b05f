"""Reads the columns of a table: the present ones from the catalog, and those at a place of the log from the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.debezium.binlog.declared_type import DeclaredType, declared_type
from connectors.jdbc.debezium.binlog.types import BYTES, SHAPES, TEXTS
from connectors.jdbc.log.binlog.packets import TableMap
from connectors.jdbc.log.binlog.values import BLOB, ENUM, JSON, SET, STRING, LoggedColumn
from connectors.jdbc.log.mysql.catalog import members_of
from connectors.jdbc.settings.table_choice import TableName

_ASKED: Final = (
    "SELECT column_name, column_type, is_nullable, column_default, extra FROM information_schema.columns "
    "WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position"
)
_NAMES: Final = {
    1: "tinyint", 2: "smallint", 9: "mediumint", 3: "int", 8: "bigint", 4: "float", 5: "double", 10: "date",
    14: "date", 13: "year", JSON: "json", 255: "geometry",
}  # fmt: skip
_WITH_DIGITS: Final = {17: "timestamp", 18: "datetime", 19: "time"}
_SIZED: Final = frozenset({"decimal", "bit", *_WITH_DIGITS.values()})
"""The log tells the sizes of columns of these types."""


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """Holds a column as it is now. `default` is the catalog's text; with `is_computed` the server computes the
    default.
    """

    declared: DeclaredType
    not_null: bool
    default: str | None
    is_computed: bool


def catalog_columns(database: Database, name: TableName) -> Mapping[str, CatalogColumn]:
    """Return the columns of a table by name."""
    asked = sa.text(_ASKED).bindparams(schema=name.schema, name=name.name)
    rows = database.rows(asked, f"reading the columns of table {name.full}")
    quotes = database.is_mariadb
    database.end_transaction()
    found = {}
    for column, type_, nullable, default, extra in rows:
        text, is_computed = _default(None if default is None else str(default), str(extra), quotes=quotes)
        found[str(column)] = CatalogColumn(declared_type(str(type_)), str(nullable) == "NO", text, is_computed)
    return found


def _default(text: str | None, extra: str, *, quotes: bool) -> tuple[str | None, bool]:
    """Return the text of a default without quotes, and True if it is an expression. With `quotes` texts are quoted
    (MariaDB).
    """
    if text is None or (quotes and text == "NULL"):
        return None, False
    if quotes:
        if text.startswith("'"):
            return members_of(text)[0], False
        return text, text[:1].isalpha() and not text.startswith(("b'", "x'"))
    return text, "DEFAULT_GENERATED" in extra or text.upper().startswith("CURRENT_TIMESTAMP")


def logged_type(mapped: TableMap, number: int, logged: LoggedColumn) -> DeclaredType:
    """Return the type of a column as far as the log tells it. `logged` has the names of its members."""
    kind, meta, told = mapped.kinds[number], mapped.metas[number], mapped.told
    assert told is not None
    if kind in _NAMES:
        return DeclaredType(_NAMES[kind], unsigned=number in told.unsigned)
    if kind in _WITH_DIGITS:
        return DeclaredType(_WITH_DIGITS[kind], (meta[0],))
    if kind == 246:
        return DeclaredType("decimal", (meta[0], meta[1]), number in told.unsigned)
    if kind == 16:
        return DeclaredType("bit", (meta[1] * 8 + meta[0],))
    if kind == STRING and meta[0] in {ENUM, SET}:
        return DeclaredType("enum" if meta[0] == ENUM else "set", members=logged.members)
    if logged.kind:
        return DeclaredType(logged.kind)
    is_binary = logged.pad_bytes or told.collations.get(number, "binary") in {63, "binary"}
    return DeclaredType(("blob" if is_binary else "text") if kind == BLOB else "varbinary" if is_binary else "varchar")


def agrees(now: DeclaredType, told: DeclaredType) -> bool:
    """Return True if the present type of a column may be the one in the log, which tells only some facts."""
    if now.name != told.name:
        return any(now.name in names and told.name in names for names in (TEXTS, BYTES, SHAPES))
    sizes = now.sizes or ((0,) if told.name in _WITH_DIGITS.values() else now.sizes)
    same_sizes = told.name not in _SIZED or sizes == told.sizes
    return same_sizes and now.unsigned == told.unsigned and now.members == told.members
