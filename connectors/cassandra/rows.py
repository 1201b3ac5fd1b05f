"""A page of a table -> a batch: key and value columns, and the position behind it. Pure."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

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

    def batch(self, split: Split, page: Page, before: Progress, *, is_last: bool) -> tuple[Batch, Progress]:
        """The rows, and how far the split is with them. SchemaError names a column whose value has no form."""
        tokens_cells, *cells = split_columns(page)
        columns = self._table.columns
        arrays = [decode_column(found, c.type, c.name) for found, c in zip(cells, columns, strict=True)]
        progress = Progress(split.upto, finished=True) if is_last else _behind(tokens_cells, before)
        keys = arrays[: len(self._table.primary_key)]
        batch = Batch(
            self._topic,
            _struct(arrays, self._row_schema),
            keys=_struct(keys, self._key_schema),
            position=split.position(progress),
        )
        return batch, progress


def _struct(arrays: list[pa.Array], schema: Schema) -> Column:
    return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema))), schema)


def _behind(tokens: Cells, before: Progress) -> Progress:
    """The last page's partition may go on in the next one: only those before it are whole."""
    array = decode_column(tokens, _TOKEN, "token")
    if not len(array):
        return before
    whole = array.filter(pc.less(array, array[-1]))
    return Progress(whole[-1].as_py()) if len(whole) else before
