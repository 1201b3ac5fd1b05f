"""Decides to which tables the rows of a batch go. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from connect.api.records import Batch
from connect.lib.javatext.regex import compile_pattern
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.iceberg_sink_config import IcebergSinkConfig


class Routes:
    """Splits the batches of a topic into batches for tables, which have the table's name in place of the topic's."""

    def __init__(self, config: S3SinkConfig) -> None:
        self._config = config if isinstance(config, IcebergSinkConfig) else None
        patterns = self._config.routes if self._config is not None else {}
        self._patterns = {table: compile_pattern(pattern) for table, pattern in patterns.items()}

    def parts(self, batch: Batch) -> Iterator[tuple[Batch, Sequence[int]]]:
        """Yield a batch for each table that gets rows, with the rows' indices in the whole batch."""
        if self._config is None:
            yield batch, range(len(batch))
        elif not self._config.route_field:
            yield from ((replace(batch, topic=table), range(len(batch))) for table in self._config.tables)
        else:
            rows: dict[str, list[int]] = {}
            for row, value in enumerate(batch.values.rows()):
                for table in self._tables_of(self._value(value)):
                    rows.setdefault(table, []).append(row)
            for table, indices in rows.items():
                whole = len(indices) == len(batch)
                yield replace(batch if whole else batch.take(indices), topic=table), indices

    def _tables_of(self, value: str | None) -> Sequence[str]:
        assert self._config is not None
        if value is None:
            return ()
        if self._config.dynamic:
            return (value.lower(),)
        return [
            name for name in self._config.tables if name in self._patterns and self._patterns[name].fullmatch(value)
        ]

    def _value(self, row: Any) -> str | None:
        assert self._config is not None
        for name in self._config.route_field.split("."):
            row = row.get(name) if isinstance(row, Mapping) else None
        return None if row is None else str(row)
