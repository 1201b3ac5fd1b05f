"""Turns pages into batches: key and value columns, and the position behind the page. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from connect.api.arrow import arrow_type
from connect.api.records import Batch, Column, SourcePosition
from connect.api.schema import Schema, struct
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import Cells, Page, decode_column, moments_ms, split_columns
from connectors.cassandra.cql.schemas import columns_schema, key_schema
from connectors.cassandra.cql.splits import Split, SplitProgress
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.sweeps import Sweep
from connectors.cassandra.source.write_times import WriteTimes
from connectors.cassandra.source.written_since import WrittenSince

_TOKEN: Final = CqlType("bigint")


class PageRows(Protocol):
    """Turns the pages of a table into batches. The first column of each page is the token."""

    more: str
    """Is CQL text that is selected behind the table's columns."""

    def batch(self, split: Split, page: Page, sweep: Sweep, *, is_last: bool) -> Batch:
        """Return the batch of a page; `is_last` says that the split ends with it.

        The batch has no position if the page has no rows and is not the last. SchemaError: a value has no form in
        Connect.
        """


class TableRows:
    """Makes rows as `SELECT *` gives them, of pages."""

    def __init__(
        self,
        table: Table,
        config: CassandraSourceConfig,
        since: WrittenSince | None = None,
        times: WriteTimes | None = None,
    ) -> None:
        """Keep rows that were written `since`; all if it is None. `times` adds the fields that tell times of writing.

        ConfigError: a column that is wanted is not there.
        """
        self._since = since
        self._times = times
        self.more = "".join(part.more for part in (times, since) if part is not None)
        self._table = table
        self._topic = config.topic_of(table)
        self._time = config.time_column_of(table)
        self._key_schema = key_schema(table)
        wanted = config.columns_of(table)
        own = columns_schema(wanted, f"{table.title}.Value")
        self._row_schema = own if times is None else struct([*own.fields, *times.fields], name=own.name)
        places = {column.name: place for place, column in enumerate(table.columns)}
        self._wanted = [places[column.name] for column in wanted]
        self._time_place = None if self._time is None else places[self._time.name]

    def batch(self, split: Split, page: Page, sweep: Sweep, *, is_last: bool) -> Batch:
        """Return the rows of a page that count, and the position behind it, if the page has rows or is the last.

        SchemaError names a column whose value has no form.
        """
        token, *cells = split_columns(page)
        progress = SplitProgress(split.upto, finished=True) if is_last else behind(self._table, token, cells, page.rows)
        if sweep.window is not None and self._time_place is not None:
            assert self._time is not None
            at_ms = moments_ms(cells[self._time_place], self._time.type)
            chosen = np.flatnonzero((at_ms > sweep.window.after_ms) & (at_ms <= sweep.window.upto_ms))
            cells = [column.take(chosen) for column in cells]
        columns = self._table.columns
        if self._since is not None:
            chosen = self._since.rows(cells[len(cells) - self._since.count :], len(cells[0].sizes))
            cells = [column.take(chosen) for column in cells]
        needed = {*range(len(self._table.primary_key)), *self._wanted}
        arrays = {place: decode_column(cells[place], columns[place].type, columns[place].name) for place in needed}
        values = [arrays[place] for place in self._wanted]
        if self._times is not None:
            values += self._times.arrays(cells, cells[len(columns) :])
        position = None
        if progress is not None:
            position = SourcePosition(split.partition, {**progress.offset, **sweep.offset})
        return Batch(
            self._topic,
            _struct(values, self._row_schema),
            keys=_struct([arrays[place] for place in range(len(self._table.primary_key))], self._key_schema),
            position=position,
        )


def behind(table: Table, token: Cells, cells: Sequence[Cells], rows: int) -> SplitProgress | None:
    """Return the place behind the last row of a page; None for a page without rows.

    `cells` are the columns of the page behind the token.
    """
    if not rows:
        return None
    (last,) = decode_column(token.row(rows - 1), _TOKEN, "token").to_pylist()
    values = [found.value(rows - 1) for found in cells[: len(table.primary_key)]]
    key = tuple(value for value in values[: len(table.partition_key)] if value is not None)
    clustering = tuple(value for value in values[len(key) :] if value is not None)
    # A row that only has static values is the only one of its partition, and its clustering columns are null.
    whole = len(clustering) < len(table.clustering) or not clustering
    return SplitProgress(last, key, None if whole else clustering)


def _struct(arrays: list[pa.Array], schema: Schema) -> Column:
    return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema))), schema)
