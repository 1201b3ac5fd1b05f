"""A page of a table -> a batch: key and value columns, and the position behind it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from connect.api.arrow import arrow_type
from connect.api.records import Batch, Column
from connect.api.schema import Schema
from connectors.cassandra.cql_types import CqlType
from connectors.cassandra.pages import Cells, Page, decode_column, split_columns
from connectors.cassandra.schemas import key_schema, row_schema
from connectors.cassandra.splits import Progress, Split
from connectors.cassandra.tables import Table

_TOKEN: Final = CqlType("bigint")


class TableRows:
    """Makes batches of a table's pages, whose first column is the token."""

    def __init__(self, table: Table, topic: str) -> None:
        self._table = table
        self._topic = topic
        self._key_schema = key_schema(table)
        self._row_schema = row_schema(table)

    def batch(self, split: Split, page: Page, *, is_last: bool) -> Batch:
        """The rows, and how far the split is with them; a page without rows that is not the last has no position.

        SchemaError names a column whose value has no form.
        """
        token, *cells = split_columns(page)
        columns = self._table.columns
        arrays = [decode_column(found, c.type, c.name) for found, c in zip(cells, columns, strict=True)]
        progress = Progress(split.upto, finished=True) if is_last else self._behind(token, cells, page.rows)
        keys = arrays[: len(self._table.primary_key)]
        return Batch(
            self._topic,
            _struct(arrays, self._row_schema),
            keys=_struct(keys, self._key_schema),
            position=None if progress is None else split.position(progress),
        )

    def _behind(self, token: Cells, cells: Sequence[Cells], rows: int) -> Progress | None:
        """Behind the last row of a page."""
        if not rows:
            return None
        (last,) = decode_column(token.row(rows - 1), _TOKEN, "token").to_pylist()
        values = [found.value(rows - 1) for found in cells[: len(self._table.primary_key)]]
        key = tuple(value for value in values[: len(self._table.partition_key)] if value is not None)
        clustering = tuple(value for value in values[len(key) :] if value is not None)
        # A row with static values alone is its partition's only one, and has no clustering columns.
        whole = len(clustering) < len(self._table.clustering) or not clustering
        return Progress(last, key, None if whole else clustering)


def _struct(arrays: list[pa.Array], schema: Schema) -> Column:
    return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema))), schema)
