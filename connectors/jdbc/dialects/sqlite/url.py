# ruff: noqa: SIM905 - many names read better as text
"""Makes URLs for Python's own driver of SQLite's JDBC URLs, and knows which of its parameters URLs may name. Pure.

Ignored parameters are about the Java driver's own work (statement caches, batches of INSERT, logs, metadata, how it
makes Java's types), which is done otherwise here. A parameter that changes who is connected to whom, or which rows
come, is translated or refused. Source: sqlite-jdbc 3, SQLite ("Uniform Resource Identifiers").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from connectors.jdbc.dialects.generic.url import (
    NUMBER,
    TRUTH,
    WHOLE,
    DriverParameters,
    Query,
    Rename,
    UrlForm,
    ValueForm,
)
from connectors.jdbc.settings.url import DatabaseUrl, Login

_DROPPED: Final = (
    "date_class date_precision date_string_format journal_mode synchronous cache_size foreign_keys open_mode cache "
    "transaction_mode locking_mode temp_store shared_cache mode encoding case_sensitive_like page_size "
    "journal_size_limit max_page_count mmap_size recursive_triggers secure_delete jdbc.explicit_readonly"
)
_PYSQLITE: Final = DriverParameters(
    frozenset("cache cached_statements check_same_thread detect_types immutable mode nolock timeout uri".split())
)


def _exact_seconds_of_ms(value: str) -> str:
    try:
        return str(int(value) / 1000)
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


class SqliteUrl(UrlForm):
    """Reads URLs of SQLite, whose databases are files."""

    driver = "sqlite"
    is_file = True
    renamed: ClassVar[Mapping[str, Rename]] = {"busy_timeout": ("timeout", _exact_seconds_of_ms)}
    dropped = frozenset(_DROPPED.split())
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "timeout": NUMBER, "cached_statements": WHOLE, "detect_types": WHOLE, "check_same_thread": TRUTH, "uri": TRUTH,
    }  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {"sqlite": _PYSQLITE, "sqlite+pysqlite": _PYSQLITE}

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the URL of the file at a JDBC URL's path; a file has no user."""
        del login
        return DatabaseUrl(self.driver, database=_path(address), query=query)

    def settings(self, url: str) -> dict[str, str]:
        """Return the connector's key connection.url for a URL that SQLAlchemy takes."""
        return {"connection.url": f"jdbc:sqlite:{url.removeprefix('sqlite:///')}"}


def _path(address: str) -> str:
    if address.startswith(":resource:"):
        raise ValueError(
            "jdbc:sqlite::resource: is a file in a Java archive: name a file, as jdbc:sqlite:/data/shop.db."
        )
    path = address.removeprefix("file:")
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    return path or ":memory:"
