"""Decodes text in the character sets of MariaDB and MySQL as the server would. It asks the server for its sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import sqlalchemy as sa

from connect.api.errors import SchemaError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.values.temporal import Misfit

_AS_IS: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii", "binary"})
_CODECS: Final = {
    "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be", "big5": "big5",
    "gbk": "gbk", "gb2312": "gb2312", "gb18030": "gb18030", "sjis": "shift_jis", "cp932": "cp932", "ujis": "euc_jp",
    "eucjpms": "euc_jp", "euckr": "cp949",
}  # fmt: skip


def charset_of(database: Database, collation: int | str) -> str:
    """Return the character set of a collation's number or name; "binary" for a number that is not known."""
    if isinstance(collation, str):
        return collation
    names = ["collations", *(["collation_character_set_applicability"] if database.is_mariadb else [])]
    for name in names:
        # MariaDB has numbers of newer collations in the second one alone, and of none there before 10.10.
        statement = sa.text(f"SELECT character_set_name FROM information_schema.{name} WHERE id = {collation:d}")  # noqa: S608 - it joins a constant and a number
        found = database.scalar(statement, f"looking for collation {collation}")
        if found is not None:
            return str(found)
    return "binary"


def decoding(database: Database, charset: str, column: str) -> Callable[[bytes], str] | None:
    """Return the function that decodes text of a character set; None where its bytes are UTF-8.

    SchemaError: the character set is not known here.
    """
    if charset in _AS_IS:
        return None
    if charset in _CODECS:
        return partial(_decoded, codec=_CODECS[charset])
    # A set of one byte per character: the server says what each of them is.
    octets = bytes(range(256)).hex()
    statement = sa.text(f"SELECT CONVERT(_{charset} x'{octets}' USING utf8mb4)")
    table = database.scalar(statement, f"reading character set {charset}") if charset.isalnum() else ""
    if len(table or "") != 256:
        raise SchemaError(
            f"The log holds text in character set {charset}, which is not known here.",
            field=column,
            fix="ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4, or leave the table out.",
        )
    return lambda value: value.decode("latin-1").translate(table)


def _decoded(value: bytes, codec: str) -> str:
    try:
        return value.decode(codec)
    except UnicodeDecodeError as error:
        raise Misfit(f"it is no text of {codec}: {error.reason}") from None
