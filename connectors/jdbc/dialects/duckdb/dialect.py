"""Describes DuckDB, part by part."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect, UrlPart, part


class DuckDb(Dialect):
    """Describes DuckDB."""

    title = "DuckDB"

    @property
    def caution(self) -> str:
        """Return what is not promised: a file is one process's while somebody writes to it."""
        return (
            "A DuckDB file is open to one process while it is written: reads wait until whoever writes has closed it, "
            "and writers wait while a pass reads. An order without an index is sorted in memory, pass by pass."
        )

    url = UrlPart("duckdb.url:DuckDbUrl")
    types = part("duckdb.types:DuckDbTypes")
    connecting = part("duckdb.connecting:DuckDbConnecting")
    catalog = part("duckdb.catalog:DuckDbCatalog")
    settled = part("duckdb.settled:DuckDbSettled")
    cursors = part("duckdb.cursors:DuckDbCursors")
