"""What the sink does in a way of its own on MariaDB and MySQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connectors.jdbc.dialects.generic.writing import Writing

if TYPE_CHECKING:
    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones


class MySqlWriting(Writing):
    """Describes MariaDB and MySQL for the sink."""

    mark = "`"
    copy = "CREATE TABLE {made} LIKE {real}"
    upserts_by_any_key = True

    def sql(self, zones: Zones) -> SinkStatements:
        """Return the statements that write."""
        from connectors.jdbc.dialects.mysql.statements import MySqlStatements

        return MySqlStatements(zones)

    def user(self, name: str) -> str:
        """Return the current user's name as a GRANT takes it, with the host it comes from."""
        user, _, host = name.rpartition("@")
        return "@".join("'" + part.replace("'", "''") + "'" for part in (user, host))
