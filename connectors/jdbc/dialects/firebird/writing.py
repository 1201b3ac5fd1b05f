"""Tells the sink what is particular to Firebird."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connectors.jdbc.dialects.generic.writing import Writing
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    import sqlalchemy as sa

    from connectors.jdbc.sink.statements import SinkStatements
    from connectors.jdbc.sink.texts import Zones


class FirebirdWriting(Writing):
    """Describes Firebird for the sink."""

    mark = '"'
    adds_column = "ADD"

    def sql(self, zones: Zones) -> SinkStatements:
        """Return the maker of the statements that write."""
        from connectors.jdbc.dialects.firebird.statements import FirebirdStatements

        return FirebirdStatements(zones)

    def table(self, name: TableName, *, keeps_case: bool) -> TableName:
        """Return the name that a table gets: without a schema, and in capitals unless it is quoted."""
        own = name.name if name.schema is None else f"{name.schema}.{name.name}"
        return TableName(None, own if keeps_case else own.upper())

    def column(self, name: str, *, keeps_case: bool) -> str:
        """Return the name that a new column gets: in capitals unless it is quoted."""
        return name if keeps_case else name.upper()

    def prepare_engine(self, engine: sa.Engine) -> None:
        """Have transactions see the rows that others commit meanwhile, as an upsert has to change those rows."""
        from sqlalchemy import event

        @event.listens_for(engine, "connect")
        def connected(connection: Any, _record: object) -> None:
            from firebird.driver import Isolation, tpb

            connection.main_transaction.default_tpb = tpb(Isolation.READ_COMMITTED_RECORD_VERSION)
