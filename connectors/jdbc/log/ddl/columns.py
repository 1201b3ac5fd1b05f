"""Knows the facts about a column that the log leaves out: its sign, members and character set. Pure.

They come from the column's definition or from the catalog. Source: MariaDB's and MySQL's documentation of data types
and their synonyms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from connectors.jdbc.log.ddl.tokens import Kind, NotUnderstoodError, Reader, Token, outside, parts

BINARY: Final = "binary"
OF_TABLE: Final = ""
"""Stands for the character set that the table has by default."""
TEXT: Final = "text"
BYTES: Final = "bytes"
INTEGERS: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_UTF8: Final = "utf8mb4"
_SYNONYMS: Final = {
    "int1": "tinyint", "bool": "tinyint", "boolean": "tinyint", "int2": "smallint", "int3": "mediumint",
    "middleint": "mediumint", "int4": "int", "integer": "int", "int8": "bigint", "dec": "decimal", "fixed": "decimal",
    "numeric": "decimal", "float4": "float", "float8": "double", "real": "double",
}  # fmt: skip
_NUMBERS: Final = INTEGERS | {"decimal", "float", "double"}
_PLAIN: Final = {"serial", "json", "date", "time", "datetime", "timestamp", "year", "bit", "uuid", "inet4", "inet6"}
_TEXTS: Final = {"char", "character", "varchar", "varcharacter", "tinytext", "text", "mediumtext", "longtext"}
_NATIONAL: Final = {"nchar", "nvarchar"}
_BYTES: Final = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
_CHOICES: Final = {"enum", "set"}
_GEOMETRIES: Final = {
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
    "geomcollection",
}  # fmt: skip
_WITH_CHARSET: Final = {TEXT, *_CHOICES}


class PastColumn(NamedTuple):
    """Describes a column as its table had it at a place of the log.

    `kind` is its type; `text` and `bytes` each stand for several types. `members` are those of ENUM and SET. `charset`
    is the one of text and members.
    """

    name: str
    kind: str
    charset: str | None = None
    unsigned: bool = False
    members: tuple[str, ...] = ()

    def in_charset(self, charset: str) -> PastColumn:
        """Return the column with another character set, if it has one. With `binary`, text becomes bytes."""
        if self.charset in {None, BINARY}:
            return self
        if charset == BINARY and self.kind == TEXT:
            return self._replace(kind=BYTES, charset=None)
        return self._replace(charset=charset)


@dataclass(frozen=True, slots=True)
class Definition:
    """Holds a column as a statement defines it. With `is_key` it is the primary key. `tokens` are its whole
    definition.
    """

    column: PastColumn
    is_key: bool = False
    tokens: tuple[Token, ...] = field(default=(), compare=False)


def catalog_column(
    name: str, data_type: str, charset: str | None, *, unsigned: bool, members: Sequence[str]
) -> PastColumn:
    """Return the column that a row of information_schema.columns describes."""
    kind = _SYNONYMS.get(data_type, data_type)
    if kind in _TEXTS:
        kind = TEXT
    elif kind in _BYTES:
        kind = BYTES
    elif kind in _GEOMETRIES:
        kind = "geometry"
    known = None if charset is None or kind not in _WITH_CHARSET else charset_named(charset)
    return PastColumn(name, kind, known, unsigned and kind in INTEGERS, tuple(members))


def charset_named(name: str) -> str:
    """Return a character set's name, with one name for all that are UTF-8."""
    return _UTF8 if name.lower() in {"utf8", "utf8mb3", "utf8mb4"} else name.lower()


def charset_of_collation(name: str) -> str | None:
    """Return the character set of a collation, or None if the collation is for several."""
    lowered = name.lower()
    return None if lowered.startswith("uca1400_") else charset_named(lowered.partition("_")[0])


def definition(found: Sequence[Token], *, is_mariadb: bool) -> Definition:
    """Return the column of a definition. NotUnderstoodError: a type or attribute is not known here."""
    reader = Reader(found)
    name = reader.name()
    column = _typed(name, reader, is_mariadb=is_mariadb)
    attributes = Reader(outside(reader.rest))
    is_key, charset, collation = False, None, None
    if column.kind == "serial":
        column = PastColumn(name, "bigint", unsigned=True)
    while not attributes.is_done:
        if attributes.skip("unsigned") or attributes.skip("zerofill"):
            column = column._replace(unsigned=column.kind in INTEGERS)
        elif attributes.skip("unique"):
            attributes.skip("key")
        elif attributes.skip("primary", "key") or attributes.skip("key"):
            is_key = True
        elif named := charset_option(attributes):
            charset = named
        elif attributes.skip("collate"):
            collation = charset_of_collation(attributes.next().text)
        elif attributes.skip("compressed"):
            raise NotUnderstoodError("a compressed column")
        elif not charset and column.charset is not None and (short := _short_charset(attributes)):
            charset = short
        else:
            attributes.next()
    return Definition(_in_charset(column, charset or collation), is_key, tuple(found))


def charset_option(reader: Reader) -> str | None:
    """Take CHARACTER SET x, if it is next, and return the name. NotUnderstoodError: it names the database's
    character set.
    """
    if not (reader.skip("character", "set") or reader.skip("charset") or reader.skip("char", "set")):
        return None
    reader.skip_mark("=")
    named = charset_named(reader.next().text)
    if named == "default":
        raise NotUnderstoodError("the character set of the database")
    return named


def _short_charset(attributes: Reader) -> str | None:
    if attributes.skip("ascii"):
        return "latin1"
    if attributes.skip("unicode"):
        return "ucs2"
    return BINARY if attributes.skip("byte") else None


def _in_charset(column: PastColumn, charset: str | None) -> PastColumn:
    return column if charset is None or column.charset is None else column.in_charset(charset)


def _typed(name: str, reader: Reader, *, is_mariadb: bool) -> PastColumn:
    word = reader.next().text.lower()
    if word == "national" or word in _NATIONAL:
        return _national(name, reader.next().text.lower() if word == "national" else word, reader)
    if word == "long":
        return _long(name, reader)
    kind = _SYNONYMS.get(word, word)
    if kind in _CHOICES:
        return PastColumn(name, kind, OF_TABLE, members=_members(reader))
    if kind in _TEXTS:
        reader.skip("varying")
        return PastColumn(name, TEXT, OF_TABLE)
    if kind == "json" and is_mariadb:
        return PastColumn(name, TEXT, _UTF8)
    if kind in _BYTES:
        return PastColumn(name, BYTES)
    if kind in _GEOMETRIES:
        return PastColumn(name, "geometry")
    if kind not in _NUMBERS | _PLAIN:
        raise NotUnderstoodError(f"type {word}")
    return PastColumn(name, kind)


def _long(name: str, reader: Reader) -> PastColumn:
    if reader.skip("varbinary"):
        return PastColumn(name, BYTES)
    reader.skip("varchar") or reader.skip("varcharacter") or reader.skip("char", "varying")
    return PastColumn(name, TEXT, OF_TABLE)


def _national(name: str, word: str, reader: Reader) -> PastColumn:
    if word not in _NATIONAL | _TEXTS:
        raise NotUnderstoodError(f"type national {word}")
    reader.skip("varying") or reader.skip("varchar")
    return PastColumn(name, TEXT, _UTF8)


def _members(reader: Reader) -> tuple[str, ...]:
    members = []
    for found in parts(reader.enclosed()):
        if len(found) != 1 or found[0].kind is not Kind.TEXT:
            raise NotUnderstoodError("members that are no plain texts")
        # The server cuts off blanks at the end of members.
        members.append(found[0].text.rstrip(" "))
    return tuple(members)
