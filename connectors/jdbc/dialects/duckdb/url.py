"""Makes duckdb-engine's URLs of DuckDB's JDBC URLs, and knows which parameters they may name. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from connectors.jdbc.dialects.generic.url import DriverParameters, Query, UrlForm
from connectors.jdbc.settings.url import DatabaseUrl, Login

DRIVER: Final = "duckdb"
_IN_MEMORY: Final = frozenset({"", ":memory:"})


class DuckDbUrl(UrlForm):
    """Reads URLs of DuckDB, whose databases are files."""

    driver = DRIVER
    is_file = True
    dropped = frozenset({
        "duckdb.read_only", "access_mode", "threads", "memory_limit", "max_memory", "jdbc_stream_results", "autoload",
        "jdbc_auto_commit", "jdbc_pin_db", "default_order", "preserve_insertion_order", "TimeZone",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {DRIVER: DriverParameters(frozenset())}
    instead = "duckdb:////folder/file.db"

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the URL of the file that a JDBC URL names. ValueError: it is no file of this machine."""
        del login
        path = address.removeprefix("file:")
        if path in _IN_MEMORY:
            raise ValueError("jdbc:duckdb: without a file is a database in memory, which has no table: name a file")
        if "://" in path or path.startswith(("md:", "ducklake:", "motherduck:")):
            raise ValueError("jdbc:duckdb: is read for files of this machine alone, as jdbc:duckdb:/data/shop.duckdb")
        return DatabaseUrl(self.driver, database=path, query=query)

    def settings(self, url: str) -> dict[str, str]:
        """Return the connector's key connection.url for a URL that SQLAlchemy takes."""
        return {"connection.url": f"jdbc:duckdb:{url.removeprefix('duckdb:///')}"}
