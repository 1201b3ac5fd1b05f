"""Tells how a database would read the rows of a poll, by its own EXPLAIN. It runs no poll."""

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
    """Reads no plan, as the form of EXPLAIN is not known."""

    # Either kind of column takes it.
    moment: sa.ColumnElement[Any] = sa.literal(datetime(1970, 1, 2), sa.DateTime())  # noqa: DTZ001 - without a zone
    """Polls are explained as if they went on behind this moment."""

    def reads_all(self, database: Database, poll: sa.Select[Any]) -> bool | None:
        """Tell if a poll reads every row; None: nobody can say. RetriableError: not now."""
        del database, poll
        return None


class KnownPlans(Plans, ABC):
    """Reads the plans of a database whose form of EXPLAIN is known."""

    def reads_all(self, database: Database, poll: sa.Select[Any]) -> bool | None:
        """Tell if a poll reads every row; the right to read is the poll's to miss."""
        return database.told(lambda: self.explained(database, poll))

    @abstractmethod
    def explained(self, database: Database, poll: sa.Select[Any]) -> bool:
        """Ask the server."""


def explained(database: Database, verb: str, poll: sa.Select[Any]) -> sa.TextClause:
    """Return the statement that explains a poll; `verb`: what stands before it."""
    dialect = database.connection.dialect
    compiled = poll.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    assert isinstance(compiled, SQLCompiler)
    # Drivers with % as their sign for parameters have it doubled.
    text = str(compiled).replace("%%", "%") if dialect.paramstyle in {"format", "pyformat"} else str(compiled)
    return sa.text(verb + text.replace("\\", "\\\\").replace(":", "\\:"))
