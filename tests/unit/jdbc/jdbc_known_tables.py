"""A schema history of tables that have one column and are never altered."""

from __future__ import annotations

from connectors.jdbc.log.binlog.metadata import ColumnMetadata
from connectors.jdbc.log.binlog.packets import Event, TableMap
from connectors.jdbc.log.binlog.position import Place
from connectors.jdbc.settings.table_choice import TableName


class Known:
    """Tables that are never altered."""

    number = 3

    def follow(self, event: Event) -> None:
        pass

    def told(self, name: TableName, mapped: TableMap, at: Place) -> ColumnMetadata:
        return ColumnMetadata(("id",))
