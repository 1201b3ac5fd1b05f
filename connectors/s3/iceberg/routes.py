"""Decides to which tables the rows of a batch go. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.api.schema import Schema
from connect.api.values.text import java_string
from connect.lib.javatext.regex import compile_pattern
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.iceberg_sink_config import IcebergSinkConfig


@dataclass(frozen=True, slots=True)
class Routed:
    """Holds the batches of tables, each with the rows' indices in the whole batch, and the errors of bad rows."""

    parts: Sequence[tuple[Batch, Sequence[int]]]
    bad: Mapping[int, Exception] = field(default_factory=dict)


class Routes:
    """Splits the batches of a topic into batches for tables, which have the table's name in place of the topic's."""

    def __init__(self, config: S3SinkConfig) -> None:
        self._config = config if isinstance(config, IcebergSinkConfig) else None
        patterns = self._config.routes if self._config is not None else {}
        self._patterns = {table: compile_pattern(pattern) for table, pattern in patterns.items()}

    def routed(self, batch: Batch) -> Routed:
        """Return a batch for each table that gets rows, and the rows whose field cannot name a table."""
        if self._config is None:
            return Routed([(batch, range(len(batch)))])
        if not self._config.route_field:
            return Routed([(replace(batch, topic=table), range(len(batch))) for table in self._config.tables])
        rows: dict[str, list[int]] = {}
        bad: dict[int, Exception] = {}
        schema = self._schema(batch.values.schema)
        for row, value in enumerate(batch.values.rows()):
            try:
                for table in self._tables_of(self._value(value, schema)):
                    rows.setdefault(table, []).append(row)
            except SchemaError as error:
                bad[row] = SchemaError(error.message, field=self._config.route_field, fix=error.fix)
        wholes = {table: len(indices) == len(batch) for table, indices in rows.items()}
        parts = [
            (replace(batch if wholes[table] else batch.take(indices), topic=table), indices)
            for table, indices in rows.items()
        ]
        return Routed(parts, bad)

    def _tables_of(self, value: str | None) -> Sequence[str]:
        assert self._config is not None
        if value is None:
            return ()
        if self._config.dynamic:
            name = value.lower()
            if "." not in name or not all(name.split(".")):
                raise SchemaError(f"{name[:100]!r} is no table with its namespace, such as shop.orders.")
            return (name,)
        return [
            name for name in self._config.tables if name in self._patterns and self._patterns[name].fullmatch(value)
        ]

    def _value(self, row: Any, schema: Schema | None) -> str | None:
        assert self._config is not None
        for name in self._config.route_field.split("."):
            row = row.get(name) if isinstance(row, Mapping) else None
        return None if row is None else java_string(row, schema)

    def _schema(self, schema: Schema | None) -> Schema | None:
        """Return the schema of the route field; None if it has none."""
        assert self._config is not None
        for name in self._config.route_field.split("."):
            schema = schema.field(name) if schema is not None else None
        return schema
