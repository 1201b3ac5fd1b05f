"""Tells how sessions of MariaDB and MySQL begin."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.sessions import Sessions

_UTC = "SET time_zone='+00:00'"


class MySqlSessions(Sessions):
    """Prepares sessions of MariaDB and MySQL."""

    def reading(self, timeout_ms: int) -> tuple[str, ...]:
        """Return the statements for a reader."""
        if not timeout_ms:
            return (_UTC,)
        # MariaDB runs the text in its comment alone, and MySQL that in the other; older servers run neither. So no
        # version that a server tells has to be trusted.
        mariadb, mysql = f"max_statement_time={timeout_ms / 1000}", f"max_execution_time={timeout_ms}"
        return (_UTC, f"SET SESSION sql_notes=@@sql_notes /*M!100101 , {mariadb} *//*!50708 , {mysql} */")

    @property
    def writing(self) -> tuple[str, ...]:
        """Return the statements for a writer."""
        # Our texts have escaped backslashes, which NO_BACKSLASH_ESCAPES would change. STRICT_ALL_TABLES refuses numbers
        # out of range.
        return (_UTC, "SET sql_mode=CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_ALL_TABLES')")
