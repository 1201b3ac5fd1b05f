"""Keeps a table with a log and their view in DuckDB: the sink's own admission and SQL text, without BigQuery's API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, quoted

from connectors.bigquery.dedup.key_bounds import KeyBound, bounds_of, ranged_keys, united
from connectors.bigquery.dedup.log_sql import LogParts, LogView
from connectors.bigquery.dedup.rules import NullKey
from connectors.bigquery.dedup.side_tables import LOG_BATCH
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.table_columns import log_columns


class SqlLog(SqlTable):
    """A table of dedup.mode=compact. Each load job is a batch of the log."""

    def __init__(self, settings: BigQuerySinkConfig) -> None:
        super().__init__(settings)
        # The optimizer of DuckDB 2.0.0 loses rows of a LEFT JOIN whose right side is empty by a join of its own.
        self.database.execute("PRAGMA disable_optimizer")
        self._create("log", log_columns(self.columns, clears=settings.dedup.clears))
        view = LogView(self.merge_of(("log",)), has_appends=settings.dedup.null_key is NullKey.APPEND)
        self.database.execute(f"CREATE VIEW shown AS {view.text()}")
        # Planning the view costs more than reading it, and histories look at it behind every statement.
        self.database.execute("PREPARE look AS SELECT * FROM shown ORDER BY id, _kafka_partition, _kafka_offset")
        self.parts = LogParts("log", quoted)
        self.loads = 0
        self._bounds: dict[str, tuple[KeyBound, ...]] = {}

    def clear(self) -> None:
        super().clear()
        self.database.execute("DELETE FROM log")

    def load(self, runs: Sequence[Sequence[Message]]) -> None:
        """Append each run by a load job of its own."""
        for run in runs:
            rows = self.admission.admit(batch_of(run), self.newest_us).rows
            self.loads += 1
            rows = rows.append_column(LOG_BATCH, pa.array([f"b{self.loads}"] * len(rows), pa.string()))
            names = ", ".join(map(quoted, rows.column_names))
            self.database.execute(f"INSERT INTO log ({names}) SELECT {names} FROM rows")

    def listed(self) -> list[str]:
        """The batches that a compaction finds."""
        ranged = ranged_keys(self.columns, (placed.column for placed in self.dedup.keys))
        asked = self.parts.batches(clears=self.settings.dedup.clears, ranged=ranged)
        found = self.database.sql(asked).to_arrow_table().to_pylist()
        self._bounds |= {row["batch"]: bounds_of(row, ranged) for row in found}
        return sorted({row["batch"] for row in found})

    def statements(self, batches: Sequence[str]) -> Iterator[Callable[[], Any]]:
        """Yield each statement of a compaction of these batches, to be run in turn."""
        merge = self.merge_of((self.parts.rows_of(batches),))
        yield from self.merging(replace(merge, key_bounds=united([self._bounds[batch] for batch in batches])))
        yield lambda: self.database.execute(self.parts.forget(batches))

    def shown(self) -> list[dict[str, Any]]:
        """The rows that the view shows, all columns, in an order of their own."""
        found = self.database.execute("EXECUTE look")
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
