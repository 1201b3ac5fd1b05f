"""Gives ENUM and SET columns the members that the server has kept: a letter that their character set lacks is a "?"."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.ddl.columns import BINARY, PastColumn
from connectors.jdbc.log.ddl.statements import UnknownTable
from connectors.jdbc.log.ddl.tables import PastTable

_LAST_OF_UTF8MB3: Final = "\uffff"


def with_stored_members(database: Database, table: PastTable) -> PastTable | UnknownTable:
    """Return the table that a statement made, with the ENUM and SET members as the server has kept them.

    A letter that the column's character set lacks becomes a question mark there, whatever sql_mode says.
    """
    lettered = [column for column in table.columns if not "".join(column.members).isascii()]
    unsure = [column.name for column in lettered if max(map(max, filter(None, column.members))) > _LAST_OF_UTF8MB3]
    if unsure:
        return UnknownTable(
            f"utf8mb3 lacks letters of the members of {', '.join(unsure)}, and may be their character set"
        )
    if not lettered:
        return table
    return replace(table, columns=tuple(_stored(database, c) if c in lettered else c for c in table.columns))


def _stored(database: Database, column: PastColumn) -> PastColumn:
    charset = column.charset or ""
    if charset == BINARY or not charset.isalnum():
        return column
    # A server converts letter by letter, so one question tells of all members.
    letters = "".join(sorted(set().union(*column.members)))
    asked = sa.text(f"SELECT CONVERT(CONVERT(:letters USING {charset}) USING utf8mb4)").bindparams(letters=letters)
    kept = database.scalar(asked, f"asking for letters in character set {charset}")
    stored = str.maketrans(letters, str(kept))
    return column._replace(members=tuple(member.translate(stored) for member in column.members))
