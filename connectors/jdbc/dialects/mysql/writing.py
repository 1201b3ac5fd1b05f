"""What the sink does in a way of its own on MariaDB and MySQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connectors.jdbc.dialects.generic.writing import Writing

if TYPE_CHECKING:
    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones


_NAME_CHARS: Final = 64
"""MySQL takes no name of a table or a column that is longer."""


class MySqlWriting(Writing):
    """Describes MariaDB and MySQL for the sink."""

    mark = "`"
    copy = "CREATE TABLE {made} LIKE {real}"
    upserts_by_any_key = True

    def name_problem(self, name: str) -> str | None:
        """See Writing."""
        if len(name) > _NAME_CHARS:
            return f"has more than {_NAME_CHARS} characters"
        return "ends with a space" if name != name.rstrip() else super().name_problem(name)

    def column_problem(self, name: str) -> str | None:
        """See Writing; SQLAlchemy shows a column with a backtick under another name."""
        return "has a backtick" if "`" in name else self.name_problem(name)

    def sql(self, zones: Zones) -> SinkStatements:
        """Return the statements that write."""
        from connectors.jdbc.dialects.mysql.statements import MySqlStatements

        return MySqlStatements(zones)

    def user(self, name: str) -> str:
        """Return the current user's name as a GRANT takes it, with the host it comes from."""
        user, _, host = name.rpartition("@")
        return "@".join("'" + part.replace("'", "''") + "'" for part in (user, host))
