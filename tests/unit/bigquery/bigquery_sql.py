"""Keeps a warehouse in DuckDB: it runs the sink's own admission and SQL text, without BigQuery's API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
from bigquery_oracle import Message, batch_of

from connectors.bigquery.dedup.dedup_values import own_columns
from connectors.bigquery.dedup.key_bounds import key_bounds, united
from connectors.bigquery.dedup.merge_sql import Bound, Merge
from connectors.bigquery.dedup.rules import placed
from connectors.bigquery.dedup.staged_rows import Admission
from connectors.bigquery.dedup.window import Late, Window, parse_window
from connectors.bigquery.rows.paths import schema_of
from connectors.bigquery.rows.table_schema import ColumnType
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.table_columns import cleared_columns, deletes_columns, value_columns

TYPES = {
    ColumnType.INTEGER: "BIGINT", ColumnType.STRING: "VARCHAR", ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.TIMESTAMP: "TIMESTAMPTZ",
}  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def config(**dedup: str) -> BigQuerySinkConfig:
    """`dedup.` settings with `_` for each dot."""
    settings = {f"dedup.{name.replace('_', '.')}": value for name, value in dedup.items()}
    given = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.null.key": "dlq"}
    return BigQuerySinkConfig.parse({**given, "timestampPartitionFieldName": "at", **settings})


class SqlTable:
    """One table and what remembers its deletes."""

    def __init__(self, settings: BigQuerySinkConfig) -> None:
        self.settings = settings
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'; SET threads = 1")
        rules = settings.dedup
        sample = batch_of([Message(0, 0, 1, 0)])
        self.dedup = placed(rules, settings.field_names, schema_of(sample.keys))
        types = settings.type_rules
        columns = tuple(column.relaxed() for column in value_columns(sample, types))
        self.newest_us: int | None = None
        self.late = 0
        self._staged: list[str] = []
        self.columns = (*columns, *own_columns(self.dedup, rules, sample, types))
        length_ms = parse_window(settings.dedup_window)
        self.window = (
            Window(settings.partition_field, ColumnType.TIMESTAMP, length_ms, Late(settings.dedup_late))
            if length_ms is not None
            else None
        )
        self.admission = Admission(self.columns, rules, self.dedup, settings.field_names, self.window, settings.extras)
        self._create("target", self.columns)
        if settings.mode.remembers_deletes:
            names = [p.column for p in (*self.dedup.keys, *self.dedup.order)]
            self._create("deletes", deletes_columns(self.columns, names))
        if settings.mode.remembers_clears:
            self._create("cleared", cleared_columns(self.columns, [p.column for p in self.dedup.keys]))

    def clear(self) -> None:
        self.newest_us = None
        for name in self._staged:
            self.database.execute(f"DROP TABLE {name}")
        self._staged = []
        self.database.execute("DELETE FROM target")
        if self.settings.mode.remembers_deletes:
            self.database.execute("DELETE FROM deletes")
        if self.settings.mode.remembers_clears:
            self.database.execute("DELETE FROM cleared")

    def merge(self, runs: Sequence[Sequence[Message]]) -> None:
        """Stage each run as a batch of its own, and merge them together."""
        for run in self.merging(self.staged(runs)):
            run()

    def staged(self, runs: Sequence[Sequence[Message]]) -> Merge:
        """Stage each run as a batch of its own; return what merges them together."""
        names, oldest, bounds, self.late = [], [], [], 0
        for run in runs:
            admitted = self.admission.admit(batch_of(run), self.newest_us)
            rows = admitted.rows
            name = f"staged_{len(self._staged)}"
            self.database.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
            self._staged.append(name)
            names.append(name)
            bounds.append(key_bounds([rows], self.columns, (p.column for p in self.dedup.keys)))
            del rows
            self.newest_us = admitted.newest_us
            self.late += admitted.late
            oldest += [] if admitted.oldest_us is None else [admitted.oldest_us]
        merge = replace(self.merge_of(tuple(names)), key_bounds=united(bounds))
        if self.window is not None and oldest:
            merge = replace(merge, bound=Bound(self.window.column, self.window.bound(min(oldest))))
        return merge

    def merging(self, merge: Merge) -> Iterator[Callable[[], Any]]:
        """Yield each statement of a merge, to be run in turn."""
        texts = [*(merge.clear("now()") if merge.has_clears else ())]
        if self.settings.mode.remembers_deletes:
            texts.append(merge.remember_deletes("now()"))
        for text in (*texts, merge.text(), merge.append()):
            yield lambda text=text: self.database.execute(text)

    def merge_of(self, staged: tuple[str, ...]) -> Merge:
        return Merge(
            target="target",
            staged=staged,
            columns=tuple(column.name for column in self.columns),
            keys=tuple(p.column for p in self.dedup.keys),
            order=tuple(p.column for p in self.dedup.order),
            present=frozenset(column.name for column in self.columns),
            keep=self.settings.dedup.keep,
            deletes=self.settings.dedup.deletes,
            tombstones="deletes" if self.settings.mode.remembers_deletes else None,
            has_clears=self.settings.dedup.clears,
            cleared="cleared" if self.settings.mode.remembers_clears else None,
            quote=quoted,
        )

    def rows(self) -> list[dict[str, Any]]:
        found: pa.Table = self.database.sql("SELECT * FROM target ORDER BY id").to_arrow_table()
        return found.to_pylist()

    def _create(self, name: str, columns: Sequence[Any]) -> None:
        members = ", ".join(f"{quoted(column.name)} {TYPES[column.type]}" for column in columns)
        self.database.execute(f"CREATE TABLE {name} ({members})")


def texts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """What tells a message: its id and text, which names its partition and offset."""
    return [(row["id"], row["text"]) for row in rows]


def wanted(messages: Mapping[int, Message]) -> list[tuple[Any, ...]]:
    return [(key, messages[key].text) for key in sorted(messages)]
