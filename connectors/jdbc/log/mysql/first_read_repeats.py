"""Tells which rows of MariaDB and MySQL come again if the first read of mode=log is broken off."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.jdbc.log.mysql.row_order import RowOrder
from connectors.jdbc.log.shared.repeated_rows import of_likes
from connectors.jdbc.settings.table_choice import TableName


def of_order(table: TableName, key: Sequence[str], order: RowOrder, page_rows: int) -> str | None:
    """Return the warning that rows of a table of MariaDB or MySQL may come again, or None if each row comes once.

    `page_rows` is max.batch.size.
    """
    compared = [column.name for column in order.columns]
    if key and set(compared) == set(key):
        return None
    if not compared:
        return (
            f"The rows of table {table.full} come again where its first read is broken off, as it has neither a key "
            "nor columns that tell them apart: add a primary key, or leave its rows out with snapshot.mode=no_data."
        )
    return of_likes(table, f"its columns {', '.join(compared)} alone tell rows apart", page_rows)
