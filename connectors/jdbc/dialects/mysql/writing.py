"""What the sink does in a way of its own on MariaDB and MySQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connectors.jdbc.dialects.generic.writing import Writing

if TYPE_CHECKING:
    from connectors.jdbc.sink.dialect import SqlDialect
    from connectors.jdbc.sink.texts import Zones


class MySqlWriting(Writing):
    """Describes MariaDB and MySQL for the sink."""

    mark = "`"
    copy = "CREATE TABLE {made} LIKE {real}"
    upserts_by_any_key = True

    def sql(self, zones: Zones) -> SqlDialect:
        """Return the statements that write."""
        from connectors.jdbc.dialects.mysql.sink import MySql

        return MySql(zones)

    def user(self, name: str) -> str:
        """Return the current user's name as a GRANT takes it, with the host it comes from."""
        user, _, host = name.rpartition("@")
        return "@".join("'" + part.replace("'", "''") + "'" for part in (user, host))
