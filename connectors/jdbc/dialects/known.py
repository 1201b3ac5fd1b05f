"""Chooses the dialect of a database by its URL. No other module does so. Pure; loads no driver.

To add a database, write its Dialect class and add one line to `DIALECTS`.
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
"""Names the class of each database by the name that its URL begins with. It is loaded at the first such URL."""
_GENERIC: Final = f"{_HERE}.generic.dialect:Generic"
_SHORT_NAMES: Final = {"postgres": "postgresql"}
"""Maps names that other clients take in URLs, and SQLAlchemy does not, to SQLAlchemy's names."""


def family(url: str) -> str:
    """Return the database's name in the URL, as `sqlite` or `postgresql`; empty when it has no scheme."""
    match = re.match(r"(?:jdbc:)?([a-zA-Z][a-zA-Z0-9]*)", url) if ":" in url else None
    return match[1].lower() if match else ""


def dialect_of(url: str) -> Dialect:
    """Return the dialect of a URL's database."""
    return dialect_named(family(url))


def dialect_at(address: str) -> Dialect:
    """Return the dialect of a URL that a database's own clients take, as `postgres://host/name`."""
    name = family(address)
    return dialect_named(_SHORT_NAMES.get(name, name))


def dialect_named(name: str) -> Dialect:
    """Return the dialect that belongs to a name at the beginning of URLs; the generic one if the name is not known."""
    return _loaded(DIALECTS.get(name, _GENERIC), name)


def dialects() -> Iterator[Dialect]:
    """Yield every dialect that is known by its name."""
    yield from map(dialect_named, DIALECTS)


@cache
def _loaded(reference: str, name: str) -> Dialect:
    module, _, attribute = reference.partition(":")
    made: Dialect = getattr(importlib.import_module(module), attribute)(name)
    return made
