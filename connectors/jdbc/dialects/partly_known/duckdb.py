"""Tells what is particular to DuckDB, which runs in this process and can open its files."""

from __future__ import annotations

from connect.api.allowed_paths import AllowedPaths
from connectors.jdbc.dialects.generic.sessions import Sessions
from connectors.jdbc.dialects.generic.url import UrlForm


class DuckDbUrl(UrlForm):
    """Reads URLs of DuckDB."""

    is_file = True
    instead = "duckdb:////folder/file.db"


class DuckDbSessions(Sessions):
    """Prepares sessions of DuckDB."""

    def closed(self, allowed: AllowedPaths) -> tuple[str, ...]:
        """Return the statements that keep it from files that the worker does not allow."""
        folders, files = (
            [_literal(f"{path}/") for path in allowed.folders],
            [_literal(path) for path in allowed.files],
        )
        return (
            f"SET allowed_directories=[{', '.join(folders)}]", f"SET allowed_paths=[{', '.join(files)}]",
            "SET python_enable_replacements=false", "SET enable_external_access=false", "SET lock_configuration=true",
        )  # fmt: skip


def _literal(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"
