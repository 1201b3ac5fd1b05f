"""Holds the statements that sessions begin with. They set the zone UTC and exact texts of values, and time limits."""

from __future__ import annotations

from connect.api.allowed_paths import AllowedPaths


class Sessions:
    """Has no statements, as it is not known which ones a database takes."""

    has_snapshot_isolation: bool = False
    """True if the database has the isolation level SNAPSHOT, as SQL Server has."""

    def reading(self, timeout_ms: int) -> tuple[str, ...]:
        """Return the statements for a reader, whose statements may take `timeout_ms` milliseconds.

        If that is 0, they may take any time.
        """
        del timeout_ms
        return ()

    def closed(self, allowed: AllowedPaths) -> tuple[str, ...]:
        """Return the statements that let a database in this process open no files but those that the worker allows."""
        del allowed
        return ()

    @property
    def writing(self) -> tuple[str, ...]:
        """Return the statements for a writer: a value that does not fit is refused, and never cut."""
        return ()
