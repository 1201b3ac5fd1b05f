"""Notes in a table of the dataset which chunks of backfills are in its other tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from connect.api.optional.bulk import BulkChunk
from connectors.bigquery.rows.quoting import literal
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.warehouse.job_facts import Counts
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.chunk_loads import chunk_name

TABLE: Final = "_kafka_connect_backfills"
_COLUMNS: Final = (
    ColumnSchema("backfill", ColumnType.STRING),
    ColumnSchema("chunk", ColumnType.STRING),
    ColumnSchema("target", ColumnType.STRING),
    ColumnSchema("target_created_ms", ColumnType.INTEGER),
    ColumnSchema("rows_written", ColumnType.INTEGER),
    ColumnSchema("written_at", ColumnType.TIMESTAMP),
)


class WrittenChunks:
    """Reads and writes the notes on the chunks of one dataset. One thread owns it."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._is_made = False

    def note(self, chunk: BulkChunk, target: str, created_ms: int, rows: int) -> None:
        """Note that a table has a chunk; earlier notes stay.

        `created_ms` is the time at which the table was made: a table that is made anew has none of the noted chunks.
        """
        if not self._is_made:
            self._warehouse.create(NewTable(TABLE, _COLUMNS))
            self._is_made = True
        names = ", ".join(column.name for column in _COLUMNS)
        self._warehouse.run(
            f"INSERT INTO {self._warehouse.path(TABLE)} ({names})\n"
            f"VALUES ({literal(chunk.job)}, {literal(chunk.id)}, {literal(target)}, {created_ms}, {rows}, "
            "CURRENT_TIMESTAMP())",
            f"kafka-connect-note-{chunk_name(chunk, target, created_ms)}",
            f"noting chunk {chunk.id}",
            Counts.ALWAYS,
        )

    def rows_of(self, chunks: Collection[BulkChunk]) -> Mapping[str, int]:
        """Return for each chunk how many of its rows were written to tables that still exist."""
        rows = {chunk.id: 0 for chunk in chunks}
        if not rows or self._warehouse.table(TABLE) is None:
            return rows
        jobs = ", ".join(sorted({literal(chunk.job) for chunk in chunks}))
        only = f" AND chunk = {literal(next(iter(rows)))}" if len(rows) == 1 else ""
        found = self._warehouse.rows(
            "SELECT chunk, target, target_created_ms, MAX(rows_written) AS rows_written\n"
            f"FROM {self._warehouse.path(TABLE)} WHERE backfill IN ({jobs}){only}\n"
            "GROUP BY chunk, target, target_created_ms",
            "counting the rows of chunks",
        )
        tables = {target: self._warehouse.table(target) for target in {one["target"] for one in found}}
        for one in found:
            table = tables[one["target"]]
            if one["chunk"] in rows and table is not None and table.created_ms == one["target_created_ms"]:
                rows[one["chunk"]] += one["rows_written"]
        return rows
