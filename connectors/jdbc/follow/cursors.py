"""Finds the columns by which a table is followed, from the configuration and the table's shape. Pure."""

from __future__ import annotations

from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, mapped_columns


def timestamp_names(table: TableName | None, config: JdbcSourceConfig) -> tuple[str, ...]:
    """Return the timestamp columns of a table, or of the query if `table` is None.

    ValueError: the mapping does not name them.
    """
    if table is not None and config.timestamp_columns_mapping:
        return mapped_columns(table, config.timestamp_columns_mapping)
    return config.timestamp_columns


def incrementing_name(table: TableName | None, shape: TableShape, config: JdbcSourceConfig) -> str | None:
    """Return the incrementing column, or None if the table has no column that the database counts up.

    ValueError: incrementing.column.mapping does not name the column.
    """
    if table is not None and config.incrementing_columns:
        return mapped_columns(table, config.incrementing_columns)[0]
    return config.incrementing_column or shape.auto_increment


def has_index(shape: TableShape, names: tuple[str, ...]) -> bool:
    """Return True if an index gives rows in the order of these columns, so that the table need not be sorted."""
    if names[:1] == (shape.row_id,) or (shape.row_id is not None and names[:1] == (shape.auto_increment,)):
        return True
    return any(
        index[: len(names)] == names or (index == names[:-1] and names[-1] == shape.row_id) for index in shape.indexes
    )
