"""Tells the sink what is particular to SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connectors.jdbc.dialects.generic.writing import Writing

if TYPE_CHECKING:
    import sqlalchemy as sa

    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones


class SqliteWriting(Writing):
    """Describes SQLite for the sink."""

    def sql(self, zones: Zones) -> SinkStatements:
        """Return the maker of the statements that write."""
        from connectors.jdbc.dialects.sqlite.statements import SqliteStatements

        return SqliteStatements(zones)

    def prepare_engine(self, engine: sa.Engine) -> None:
        """Have the engine begin each transaction by BEGIN, as Python's driver begins one before some statements only.

        A savepoint before other statements would be outside of a transaction, and be committed by itself.
        """
        from sqlalchemy import event

        @event.listens_for(engine, "connect")
        def connected(connection: Any, _record: object) -> None:
            connection.isolation_level = None

        @event.listens_for(engine, "begin")
        def begun(connection: sa.Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
