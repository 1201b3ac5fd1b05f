"""Asks a database by EXPLAIN how it would read the rows of a poll, without running the poll."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

DOING: Final = "explaining a poll"


class Plans:
    """Reads no plan, as EXPLAIN has another form in each database."""

    # Columns of wall-clock times and of instants can both be compared with it.
    moment: sa.ColumnElement[Any] = sa.literal(datetime(1970, 1, 2), sa.DateTime())  # noqa: DTZ001 - without a zone
    """The explained poll asks for the rows after this moment."""

    def reads_all(self, database: Database, poll: sa.Select[Any]) -> bool | None:
        """Return True if a poll reads every row, or None if the database cannot tell.

        RetriableError: it cannot tell now.
        """
        del database, poll
        return None


class KnownPlans(Plans, ABC):
    """Reads the plans of a database whose form of EXPLAIN is known."""

    def reads_all(self, database: Database, poll: sa.Select[Any]) -> bool | None:
        """Return True if a poll reads every row; None if the server refuses to explain it, as without rights."""
        return database.told(lambda: self.explained(database, poll))

    @abstractmethod
    def explained(self, database: Database, poll: sa.Select[Any]) -> bool:
        """Return True if the database's plan for a poll reads every row."""


def explained(database: Database, verb: str, poll: sa.Select[Any]) -> sa.TextClause:
    """Return the statement that explains a poll; `verb` is the text before the poll, as `EXPLAIN `."""
    dialect = database.connection.dialect
    compiled = poll.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    assert isinstance(compiled, SQLCompiler)
    # For drivers that mark parameters by %, SQLAlchemy doubles each % of the text. There are no parameters here.
    text = str(compiled).replace("%%", "%") if dialect.paramstyle in {"format", "pyformat"} else str(compiled)
    return sa.text(verb + text.replace("\\", "\\\\").replace(":", "\\:"))
