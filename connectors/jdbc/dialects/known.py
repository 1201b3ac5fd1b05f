"""Chooses the dialect of a database by its URL; the only place that does. Pure, and cheap until a part is used.

A further database is one line here, and the class that the line names.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from connectors.jdbc.dialects.dialect import Dialect

_HERE: Final = "connectors.jdbc.dialects"
DIALECTS: Final = {
    "postgresql": f"{_HERE}.postgres.dialect:Postgres",
    "mariadb": f"{_HERE}.mysql.dialect:MariaDb",
    "mysql": f"{_HERE}.mysql.dialect:MySql",
    "sqlite": f"{_HERE}.sqlite.dialect:Sqlite",
    "firebirdsql": f"{_HERE}.firebird.dialect:Firebird",
    "firebird": f"{_HERE}.firebird.dialect:Firebird",
    "oracle": f"{_HERE}.partly_known.dialect:Oracle",
    "mssql": f"{_HERE}.partly_known.dialect:MsSql",
    "sqlserver": f"{_HERE}.partly_known.dialect:MsSql",
    "jtds": f"{_HERE}.partly_known.dialect:MsSql",
    "duckdb": f"{_HERE}.duckdb.dialect:DuckDb",
    "db2": f"{_HERE}.partly_known.dialect:Db2",
    "ibm": f"{_HERE}.partly_known.dialect:Db2",
    "sap": f"{_HERE}.partly_known.dialect:SapHana",
    "redshift": f"{_HERE}.partly_known.dialect:Redshift",
    "snowflake": f"{_HERE}.partly_known.dialect:Snowflake",
    "clickhouse": f"{_HERE}.partly_known.dialect:ClickHouse",
    "ch": f"{_HERE}.partly_known.dialect:ClickHouse",
    "clickhousedb": f"{_HERE}.partly_known.dialect:ClickHouse",
    "cockroachdb": f"{_HERE}.partly_known.dialect:Cockroach",
    "hana": f"{_HERE}.partly_known.dialect:SapHana",
    "vertica": f"{_HERE}.partly_known.dialect:Vertica",
}
"""The class of each database, by the name that its URL begins with; loaded when such a URL is first seen."""
_GENERIC: Final = f"{_HERE}.generic.dialect:Generic"
_SHORT_NAMES: Final = {"postgres": "postgresql"}
"""SQLAlchemy does not take these names, which other clients take in URLs."""


def family(url: str) -> str:
    """Return the database's name in the URL, as `sqlite` or `postgresql`; empty when it has no scheme."""
    match = re.match(r"(?:jdbc:)?([a-zA-Z][a-zA-Z0-9]*)", url) if ":" in url else None
    return match[1].lower() if match else ""


def dialect_of(url: str) -> Dialect:
    """Return the dialect of a URL's database."""
    return dialect_named(family(url))


def dialect_at(address: str) -> Dialect:
    """Return the dialect of an address as a database's own clients take it."""
    name = family(address)
    return dialect_named(_SHORT_NAMES.get(name, name))


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a database's name; the generic one where the name is not known."""
    return _loaded(DIALECTS.get(name, _GENERIC), name)


def dialects() -> Iterator[Dialect]:
    """Yield every dialect that is known by its name."""
    yield from map(dialect_named, DIALECTS)


@cache
def _loaded(reference: str, name: str) -> Dialect:
    module, _, attribute = reference.partition(":")
    made: Dialect = getattr(importlib.import_module(module), attribute)(name)
    return made
