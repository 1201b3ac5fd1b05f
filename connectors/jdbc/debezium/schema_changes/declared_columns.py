"""Reads the facts about a column from its definition in a statement, as Debezium's schema changes tell them. Pure.

Source: records that Debezium's MySQL connector 3.6 wrote of every type; the numbers of types are those of
java.sql.Types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from connectors.jdbc.log.ddl.tokens import Kind, Reader, Token, parts

_SMALLINT, _INTEGER, _BIGINT, _REAL, _FLOAT, _DOUBLE, _NUMERIC, _DECIMAL = 5, 4, -5, 7, 6, 8, 2, 3
_BIT, _BOOLEAN, _CHAR, _VARCHAR, _NCHAR, _NVARCHAR, _BINARY, _VARBINARY, _BLOB = -7, 16, 1, 12, -15, -9, -2, -3, 2004
_DATE, _TIME, _TIMESTAMP, _TIMESTAMP_WITH_ZONE, _OTHER = 91, 92, 93, 2014, 1111
_JDBC_TYPES: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("TINYINT", "INT1", "SMALLINT", "INT2"), _SMALLINT),
        **dict.fromkeys(("MEDIUMINT", "INT3", "MIDDLEINT", "INT", "INTEGER", "INT4", "YEAR"), _INTEGER),
        **dict.fromkeys(("BIGINT", "INT8", "SERIAL"), _BIGINT),
        **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT8"), _DOUBLE),
        **dict.fromkeys(("DECIMAL", "DEC", "FIXED"), _DECIMAL),
        **dict.fromkeys(("BOOL", "BOOLEAN"), _BOOLEAN),
        **dict.fromkeys(("FLOAT", "FLOAT4"), _FLOAT),
        **dict.fromkeys(("VARCHAR", "CHAR VARYING", "CHARACTER VARYING", "VARCHARACTER", "LONG VARCHAR"), _VARCHAR),
        **dict.fromkeys(("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "LONG"), _VARCHAR),
        **dict.fromkeys(("CHAR", "CHARACTER", "ENUM", "SET"), _CHAR),
        **dict.fromkeys(("NCHAR", "NATIONAL CHAR", "NATIONAL CHARACTER"), _NCHAR),
        **dict.fromkeys(("NVARCHAR", "NATIONAL VARCHAR", "NCHAR VARYING", "NCHAR VARCHAR"), _NVARCHAR),
        **dict.fromkeys(("TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"), _BLOB),
        "REAL": _REAL, "NUMERIC": _NUMERIC, "BIT": _BIT, "BINARY": _BINARY, "VARBINARY": _VARBINARY, "DATE": _DATE,
        "TIME": _TIME, "DATETIME": _TIMESTAMP, "TIMESTAMP": _TIMESTAMP_WITH_ZONE,
    }
)  # fmt: skip
_TEXTS: Final = frozenset({_CHAR, _VARCHAR, _NCHAR, _NVARCHAR})
_NATIONAL: Final = ("char", "character", "varchar", "varying")
_MORE_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "DOUBLE": ("precision",), "CHAR": ("varying",), "CHARACTER": ("varying",), "LONG": ("varchar", "varbinary"),
        "NCHAR": _NATIONAL, "NATIONAL": _NATIONAL, "NATIONAL CHAR": ("varying",), "NATIONAL CHARACTER": ("varying",),
    }
)  # fmt: skip
"""Maps the first words of a type's name to the words that may follow them in the name."""
_NOW: Final = frozenset({"current_timestamp", "now", "localtime", "localtimestamp"})
_EPOCH: Final = "1970-01-01 00:00:00"
_SHORT_CHARSETS: Final = {"ascii": "latin1", "unicode": "ucs2", "byte": "binary"}


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """Holds a column as a statement declares it. `members` are those of ENUM and SET, with their quotes.

    With `is_generated` the server sets the value if a row has none, or at each update. With `is_key` or `is_unique` the
    column alone is the primary or a unique key.
    """

    name: str
    type_name: str
    jdbc_type: int
    length: int | None = None
    scale: int | None = None
    charset: str | None = None
    is_optional: bool = True
    is_generated: bool = False
    comment: str | None = None
    default: str | None = None
    members: tuple[str, ...] = ()
    is_key: bool = False
    is_unique: bool = False

    @property
    def has_charset(self) -> bool:
        """Return True if the column's values are text."""
        return self.jdbc_type in _TEXTS

    def in_charset(self, charset: str | None) -> DeclaredColumn:
        """Return the column in a character set if it holds text and its definition names none."""
        return replace(self, charset=charset) if self.has_charset and self.charset is None else self


def declared_column(found: Sequence[Token]) -> DeclaredColumn:
    """Return the column of a definition. NotUnderstoodError: the definition ends too early."""
    reader = Reader(found)
    name = reader.name()
    column = _typed(name, reader)
    while not reader.is_done:
        column = _with_attribute(column, reader)
    return replace(column, is_optional=False) if column.is_key else column


def _typed(name: str, reader: Reader) -> DeclaredColumn:
    told = reader.next().text.upper()
    while (more := _MORE_WORDS.get(told)) and reader.word(*more):
        told += f" {reader.next().text.upper()}"
    sizes: list[int] = []
    members: tuple[str, ...] = ()
    if reader.rest[:1] == [Token(Kind.MARK, "(")]:
        inside = parts(reader.enclosed())
        if told in {"ENUM", "SET"}:
            members = tuple(f"'{part[0].text}'" for part in inside if part)
        else:
            sizes = [int(part[0].text) for part in inside if part and part[0].text.isdecimal()]
    jdbc = _JDBC_TYPES.get(told, _OTHER)
    while sign := reader.word("unsigned", "zerofill", "signed"):
        reader.next()
        told += "" if sign == "signed" else f" {sign.upper()}"
    if told == "SERIAL":
        return DeclaredColumn(name, "BIGINT UNSIGNED", jdbc, is_optional=False, is_generated=True)
    if members:
        sizes = [1] if told == "ENUM" else [2 * len(members) - 1]
    length, scale = [*sizes, None, None][:2]
    return DeclaredColumn(name, told, jdbc, length, scale, members=members)


def _with_attribute(column: DeclaredColumn, reader: Reader) -> DeclaredColumn:
    """Return the column with the attribute that the next words name."""
    found = _with_rule(column, reader) or _with_charset(column, reader)
    if found is not None:
        return found
    if reader.skip("default"):
        return replace(column, default=_default(reader))
    if reader.skip("comment"):
        return replace(column, comment=reader.next().text)
    if reader.rest[0] == Token(Kind.MARK, "("):
        # The tokens in parentheses are an expression, and its words are no attributes.
        reader.enclosed()
    else:
        reader.next()
    return column


def _with_rule(column: DeclaredColumn, reader: Reader) -> DeclaredColumn | None:
    """Return the column with the rule about its values that the next words name, or None if they name no such rule."""
    if reader.skip("not", "null"):
        return replace(column, is_optional=False)
    if reader.skip("unique"):
        reader.skip("key")
        return replace(column, is_unique=True)
    if reader.skip("primary", "key") or reader.skip("primary") or reader.skip("key"):
        return replace(column, is_key=True)
    if reader.skip("auto_increment"):
        return replace(column, is_generated=True)
    if reader.skip("on", "update"):
        # A foreign key has these words, too.
        return replace(column, is_generated=column.is_generated or bool(reader.word(*_NOW)))
    return None


def _with_charset(column: DeclaredColumn, reader: Reader) -> DeclaredColumn | None:
    """Return the column with the character set that is named next, or None if none is named."""
    if reader.skip("character", "set") or reader.skip("charset") or reader.skip("char", "set"):
        return replace(column, charset=reader.next().text) if column.has_charset else column
    if reader.skip("collate"):
        return column.in_charset(charset_of(reader.next().text))
    if column.has_charset and column.charset is None and (word := reader.word(*_SHORT_CHARSETS)):
        reader.next()
        return replace(column, charset=_SHORT_CHARSETS[word])
    return None


def charset_of(collation: str) -> str | None:
    """Return the character set that a collation is named after, or None if the collation is for several."""
    return None if collation.lower().startswith("uca1400_") else collation.partition("_")[0]


def _default(reader: Reader) -> str | None:
    """Take the value behind DEFAULT and return its text, as Debezium tells it, or None if there is none."""
    if reader.rest[:1] == [Token(Kind.MARK, "(")]:
        reader.enclosed()
        return None
    token = reader.next()
    text = token.text
    if token.kind is Kind.TEXT:
        return text.replace("'", "''")
    if text.lower() in _NOW or text.lower() == "null":
        if reader.rest[:1] == [Token(Kind.MARK, "(")]:
            reader.enclosed()
        return None if text.lower() == "null" else _EPOCH
    if reader.rest and reader.rest[0].kind is Kind.TEXT and text.lower() in {"b", "x", "_utf8mb4"}:
        return reader.next().text
    if text in {"-", "+"}:
        text += reader.next().text
    if reader.skip_mark("."):
        text += f".{reader.next().text}"
    return text
