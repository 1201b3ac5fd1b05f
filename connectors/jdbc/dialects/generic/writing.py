"""What differs between databases that the sink writes to, beside the statements that write. Loads no driver."""

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
    """This quotes a name in a database that has rights; empty: it has none."""
    copy: str = ""
    """This statement makes a table as another one is; empty: there is none."""
    adds_column: str = "ADD COLUMN"
    """ALTER TABLE says this before a new column."""
    upserts_by_any_key: bool = False
    """True if a row is found by whichever key it breaks, without its name."""
    may_create: str = ""
    """This statement tells if the user may create tables in a schema; empty: the database does not tell."""

    @abstractmethod
    def sql(self, zones: Zones) -> SinkStatements:
        """Return the statements that write."""

    def table(self, name: TableName, *, keeps_case: bool) -> TableName:
        """Return the name under which the database has a table that is made by a name. `keeps_case`: as in quotes."""
        del keeps_case
        return name

    def column(self, name: str, *, keeps_case: bool) -> str:
        """Return the name under which a new column is made."""
        del keeps_case
        return name

    def name_problem(self, name: str) -> str | None:
        """Return what keeps a table from having this name, as the end of a sentence; None: nothing."""
        return "is blank or has a NUL" if not name.strip() or "\0" in name else None

    def column_problem(self, name: str) -> str | None:
        """Return what keeps a new column from having this name; see `name_problem`."""
        return self.name_problem(name)

    def user(self, name: str) -> str:
        """Return the current user's name as a GRANT takes it."""
        return name

    def prepare_engine(self, engine: sa.Engine) -> None:
        """Make transactions of an engine begin as the sink needs it."""
        del engine

    def check_constraints(self, connection: sa.Connection) -> None:
        """Look at every constraint of the transaction now, where the database has some that it looks at late."""
        del connection

    def late_keys(self, connection: sa.Connection, table: TableName) -> Mapping[frozenset[str], str]:
        """Return the statement that mends each unique key which no upsert finds rows by, as it is looked at late."""
        del connection, table
        return {}
