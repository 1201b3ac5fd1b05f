"""Tells how sessions of SQLite begin."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.sessions import Sessions


class SqliteSessions(Sessions):
    """Prepares sessions of SQLite."""

    def reading(self, timeout_ms: int) -> tuple[str, ...]:
        """Return the statements for a reader."""
        del timeout_ms
        return ("PRAGMA query_only=ON",)

    @property
    def writing(self) -> tuple[str, ...]:
        """Return the statements for a writer."""
        return ("PRAGMA busy_timeout=5000",)
