"""Tells the sink what is particular to MariaDB and MySQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connectors.jdbc.dialects.generic.writing import Writing

if TYPE_CHECKING:
    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones


_NAME_CHARS: Final = 64
"""Names of tables and columns have this many characters at most."""


class MySqlWriting(Writing):
    """Describes MariaDB and MySQL for the sink."""

    mark = "`"
    copy = "CREATE TABLE {made} LIKE {real}"
    upserts_by_any_key = True

    def name_problem(self, name: str) -> str | None:
        """Return why a table cannot have this name, as the end of a sentence about the name, or None if it can."""
        if len(name) > _NAME_CHARS:
            return f"has more than {_NAME_CHARS} characters"
        return "ends with a space" if name != name.rstrip() else super().name_problem(name)

    def column_problem(self, name: str) -> str | None:
        """Return why a new column cannot have this name. SQLAlchemy reflects names with a backtick wrongly."""
        return "has a backtick" if "`" in name else self.name_problem(name)

    def sql(self, zones: Zones) -> SinkStatements:
        """Return the maker of the statements that write."""
        from connectors.jdbc.dialects.mysql.statements import MySqlStatements

        return MySqlStatements(zones)

    def user(self, name: str) -> str:
        """Return the current user's name and host, each in quotes, as a GRANT takes them."""
        user, _, host = name.rpartition("@")
        return "@".join("'" + part.replace("'", "''") + "'" for part in (user, host))
