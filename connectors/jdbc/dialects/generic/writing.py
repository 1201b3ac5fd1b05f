"""Declares what the sink has to know of a database beside the statements that write. Loads no driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    import sqlalchemy as sa

    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones


class Writing(ABC):
    """Describes a database that the sink writes to."""

    mark: str = ""
    """Names are quoted by this character in a GRANT. It is empty if the database has no GRANT."""
    copy: str = ""
    """This statement makes a table `{made}` with the columns of table `{real}`.

    It is empty if there is no such statement.
    """
    adds_column: str = "ADD COLUMN"
    """These words begin the clause of ALTER TABLE that adds a column."""
    upserts_by_any_key: bool = False
    """True if an upsert changes the row that has any of the same unique keys, and does not name one key."""
    may_create: str = ""
    """This query tells if the user may create tables in schema `:schema`. It is empty if the database does not tell."""

    @abstractmethod
    def sql(self, zones: Zones) -> SinkStatements:
        """Return the maker of the statements that write. `zones` are those in which moments are written."""

    def table(self, name: TableName, *, keeps_case: bool) -> TableName:
        """Return the name that a table gets in the database if it is created as `name`.

        With `keeps_case` the name is quoted when the table is created.
        """
        del keeps_case
        return name

    def column(self, name: str, *, keeps_case: bool) -> str:
        """Return the name that a new column gets in the database. With `keeps_case` it is quoted."""
        del keeps_case
        return name

    def name_problem(self, name: str) -> str | None:
        """Return why a table cannot have this name, as the end of a sentence about the name, or None if it can."""
        return "is blank or has a NUL" if not name.strip() or "\0" in name else None

    def column_problem(self, name: str) -> str | None:
        """Return why a new column cannot have this name, as the end of a sentence about the name, or None if it can."""
        return self.name_problem(name)

    def user(self, name: str) -> str:
        """Return the current user's name as a GRANT takes it."""
        return name

    def prepare_engine(self, engine: sa.Engine) -> None:
        """Set up an engine so that its transactions begin as the sink needs it."""
        del engine

    def check_constraints(self, connection: sa.Connection) -> None:
        """Check every constraint now, if the database would check some of them at the end of the transaction only."""
        del connection

    def late_keys(self, connection: sa.Connection, table: TableName) -> Mapping[frozenset[str], str]:
        """Return the unique keys that no upsert can use, as the database checks them late.

        A key's columns map to the statement that makes the key be checked at once.
        """
        del connection, table
        return {}
