"""Asks the catalog of MariaDB and MySQL for the facts about tables that their binary logs leave out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import NoTableError, describe
from connectors.jdbc.log.ddl.columns import catalog_column, charset_named, charset_of_collation
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

_ESCAPED = {"n": "\n", "r": "\r", "0": "\0"}
_COLUMNS = (
    "SELECT column_name, data_type, column_type, character_set_name FROM information_schema.columns "
    "WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position"
)
_KEY = (
    "SELECT column_name FROM information_schema.statistics WHERE table_schema = :schema AND table_name = :name "
    "AND index_name = 'PRIMARY' ORDER BY seq_in_index"
)
_COLLATION = "SELECT table_collation FROM information_schema.tables WHERE table_schema = :schema AND table_name = :name"
_UNREAD = (
    "SELECT table_schema, table_name, column_name, column_type FROM information_schema.columns "
    "WHERE table_schema IN :schemas AND (column_type LIKE :compressed OR data_type = :vector)"
)
_COMPRESSED = "% /*M!100301 COMPRESSED*/"
"""The type of a compressed column of MariaDB ends so."""
_CHARSETS = "SELECT schema_name, default_character_set_name FROM information_schema.schemata"


def catalog_table(database: Database, name: TableName) -> PastTable | None:
    """Return a table as it is now, or None if there is no such table."""
    doing = f"reading the columns of table {name.full}"

    def rows(statement: str) -> list[tuple[object, ...]]:
        bound = sa.text(statement).bindparams(schema=name.schema, name=name.name)
        return [tuple(row) for row in database.rows(bound, doing)]

    columns = tuple(
        catalog_column(
            str(column),
            str(kind).lower(),
            None if charset is None else str(charset),
            unsigned="unsigned" in str(text).lower(),
            members=members_of(str(text)) if str(kind).lower() in {"enum", "set"} else (),
        )
        for column, kind, text, charset in rows(_COLUMNS)
    )
    if not columns:
        return None
    key = tuple(str(row[0]) for row in rows(_KEY))
    collation = next((row[0] for row in rows(_COLLATION)), None)
    database.end_transaction()
    return PastTable(columns, key, None if collation is None else charset_of_collation(str(collation)))


def without_log(database: Database, tables: Sequence[TableName]) -> Mapping[TableName, str]:
    """Return the tables that have columns whose values in the log are not read, each with the reason and the fix."""
    # MariaDB logs a VECTOR as bytes.
    vector = "" if database.is_mariadb else "vector"
    asked = sa.text(_UNREAD).bindparams(sa.bindparam("schemas", [*{table.schema for table in tables}], expanding=True))
    rows = database.rows(
        asked.bindparams(compressed=_COMPRESSED, vector=vector), "looking for columns whose log is not read"
    )
    database.end_transaction()
    columns: dict[TableName, list[str]] = {}
    for schema, name, column, kind in rows:
        columns.setdefault(TableName(str(schema), str(name)), []).append(f"{column} ({kind})")
    return {
        table: f"The log's values of {', '.join(columns[table])} are not read here. Change the type of such a column, "
        "leave the table out of the filter, or read it with another mode."
        for table in tables
        if table in columns
    }


def is_hidden(database: Database, name: TableName, config: JdbcSourceConfig) -> bool:
    """Return True if a table is there that the server does not list, as the user has no right to it.

    RetriableError: the server cannot say now.
    """
    try:
        describe(database, name, config)
    except NoTableError:
        return False
    except RetriableError:
        raise
    except ConnectError:
        return True
    finally:
        database.end_transaction()
    return True


def schema_charsets(database: Database) -> dict[str, str | None]:
    """Return the character set that new tables of each database have."""
    found = database.rows(sa.text(_CHARSETS), "reading the character sets of databases")
    database.end_transaction()
    return {str(schema): charset_named(str(charset)) for schema, charset in found}


def members_of(text: str) -> tuple[str, ...]:
    """Return the members of enum('a','it''s','a\\b'), as SHOW CREATE TABLE escapes them."""
    quoted = re.findall(r"'((?:[^'\\]|''|\\.)*)'", text, re.DOTALL)
    return tuple(re.sub(r"''|\\(.)", lambda found: _ESCAPED.get(found[1], found[1] or "'"), part) for part in quoted)
