"""What a person should know before the first read of mode=log: what is not exact where it is broken off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.log.mysql.row_order import RowOrder
from connectors.jdbc.log.mysql.tables import row_order
from connectors.jdbc.log.shared.repeated_rows import of_key, of_likes
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName


def notes(database: Database, config: JdbcSourceConfig, tables: Mapping[TableName, TableShape]) -> Iterator[str]:
    """A sentence for each table of which rows may come again. Asks the catalog."""
    if config.snapshot_mode in {"no_data", "never"}:
        return
    for table, shape in tables.items():
        key = shape.primary or shape.unique
        if database.dialect_name != "postgresql":
            note = of_order(table, key, row_order(database, table, shape), config.max_batch_size)
        else:
            note = of_key(table, key, config.max_batch_size)
        if note is not None:
            yield note


def of_order(table: TableName, key: Sequence[str], order: RowOrder, page_rows: int) -> str | None:
    """Of a table of MariaDB or MySQL; None: each row comes once. `page_rows`: max.batch.size."""
    compared = [column.name for column in order.columns]
    if key and set(compared) == set(key):
        return None
    if not compared:
        return (
            f"The rows of table {table.full} come again where its first read is broken off, as it has neither a key "
            "nor columns that tell them apart: add a primary key, or leave its rows out with snapshot.mode=no_data."
        )
    return of_likes(table, f"its columns {', '.join(compared)} alone tell rows apart", page_rows)
