"""Tells how sessions begin: in UTC, with exact texts of values; readers read only where that can be said."""

from __future__ import annotations

from connect.api.allowed_paths import AllowedPaths


class Sessions:
    """The statements that prepare sessions; none where a database is not known."""

    has_snapshot_isolation: bool = False
    """True if SQL Server's own level of isolation is there."""

    def reading(self, timeout_ms: int) -> tuple[str, ...]:
        """Return the statements for a reader; `timeout_ms`: how long a statement may take, 0: as long as it likes."""
        del timeout_ms
        return ()

    def closed(self, allowed: AllowedPaths) -> tuple[str, ...]:
        """Return the statements that keep a database in this process from files that the worker does not allow."""
        del allowed
        return ()

    @property
    def writing(self) -> tuple[str, ...]:
        """Return the statements for a writer: a value that does not fit is refused, and never cut."""
        return ()
