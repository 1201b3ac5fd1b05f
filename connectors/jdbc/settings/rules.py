"""Checks what must hold between settings, in the order of Confluent's validation. Pure; needs no database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.secrets import HIDDEN
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.settings.connection_rules import connection_problems, dialect_problems
from connectors.jdbc.settings.log_keys import log_problems
from connectors.jdbc.settings.table_choice import parse_mapping

if TYPE_CHECKING:
    from connectors.jdbc.settings.config import JdbcSourceConfig

_LEGACY_TABLES = {"table.whitelist": "table_whitelist", "table.blacklist": "table_blacklist"}
_NEW_TABLES = {"table.include.list": "table_include", "table.exclude.list": "table_exclude"}
_LEGACY_COLUMNS = {"incrementing.column.name": "incrementing_column", "timestamp.column.name": "timestamp_columns"}
_NEW_COLUMNS = {
    "incrementing.column.mapping": "incrementing_columns", "timestamp.columns.mapping": "timestamp_columns_mapping",
}  # fmt: skip


def problems(config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    """Yield every broken rule of a configuration, each on the key to change."""
    yield from _table_rules(config)
    yield from _query_rules(config)
    yield from _mode_rules(config)
    yield from connection_problems(config)
    yield from _database_rules(config)
    if config.mode == "log":
        yield from log_problems(config)


def _given(config: JdbcSourceConfig, keys: dict[str, str]) -> list[str]:
    return [name for name, attribute in keys.items() if getattr(config, attribute)]


def _table_rules(config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    legacy = _given(config, _LEGACY_TABLES | _LEGACY_COLUMNS)
    new = _given(config, _NEW_TABLES | _NEW_COLUMNS)
    if legacy and new and not config.query_text:
        for names, others in ((legacy, new), (new, legacy)):
            for name in names:
                yield ConfigProblem(
                    name, f"{name} and {', '.join(others)} may not be used together: use one style of keys."
                )
    if config.table_whitelist and config.table_blacklist:
        for name in _LEGACY_TABLES:
            yield ConfigProblem(name, "table.whitelist and table.blacklist are exclusive: give one of them.")
    if config.table_exclude and not config.table_include:
        yield ConfigProblem("table.exclude.list", "table.exclude.list needs table.include.list, from which it takes.")
    for name, attribute in _NEW_TABLES.items():
        yield from _regex_problems(name, getattr(config, attribute))
    for name, attribute in _NEW_COLUMNS.items():
        yield from _mapping_problems(name, getattr(config, attribute))


def _regex_problems(name: str, patterns: tuple[str, ...]) -> Iterator[ConfigProblem]:
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except JavaPatternError as error:
            yield ConfigProblem(
                name, f"Invalid value {pattern} for configuration {name}: not a regular expression: {error}"
            )


def _mapping_problems(name: str, entries: tuple[str, ...]) -> Iterator[ConfigProblem]:
    for entry in entries:
        try:
            parse_mapping(entry)
        except ValueError as error:
            yield ConfigProblem(name, f"Invalid value {entry} for configuration {name}: {error}")


def _query_rules(config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    query_key = "query" if config.query else "query.masked"
    query = config.query_text
    if config.query and config.query_masked:
        for name in ("query", "query.masked"):
            yield ConfigProblem(name, "query and query.masked are exclusive: give one of them.")
    filters = _given(config, _LEGACY_TABLES | _NEW_TABLES)
    if query:
        shown = query.partition("\n")[0] if config.query else HIDDEN
        if not re.match(r"(?i)\s*select\b", query):
            yield ConfigProblem(
                query_key, f"Invalid value {shown} for configuration {query_key}: must start with SELECT."
            )
        for name in filters:
            yield ConfigProblem(
                name, f"{name} may not be used with {query_key}: do not filter tables when reading a query."
            )
        if filters:
            yield ConfigProblem(query_key, f"{query_key} may not be used with {', '.join(filters)}: give one of them.")
    columns = _given(config, _LEGACY_COLUMNS | _NEW_COLUMNS)
    if not query and not filters and not columns:
        for name in ("table.whitelist", "table.include.list", "query"):
            yield ConfigProblem(
                name,
                "At least one table filtering configuration is required: give table.include.list, table.whitelist or "
                "table.blacklist, or read a query.",
            )


def _mode_rules(config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    if config.time_precision_mode and config.timestamp_granularity != "connect_logical":
        for name in ("time.precision.mode", "timestamp.granularity"):
            yield ConfigProblem(name, "time.precision.mode and timestamp.granularity are exclusive: give one of them.")
    if not config.mode:
        yield ConfigProblem("mode", "Query mode must be specified: mode is bulk, timestamp, incrementing or both.")
    if config.initial_read_parallelism > 1 and (
        config.query_text or config.mode in {"bulk", "log"} or config.offset_mode != "safe" or config.query_suffix
    ):
        yield ConfigProblem(
            "initial.read.parallelism",
            "initial.read.parallelism is for tables that are followed with offset.mode=safe: not for mode=bulk, log, "
            "query, query.suffix and offset.mode=confluent.",
        )
    if config.query_text and "incrementing" in config.mode and not config.incrementing_column:
        yield ConfigProblem(
            "incrementing.column.name",
            f"incrementing.column.name must be given to read a query with mode={config.mode}.",
        )
    if "timestamp" in config.mode and not (config.timestamp_columns or config.timestamp_columns_mapping):
        yield ConfigProblem("timestamp.column.name", f"mode={config.mode} needs timestamp.column.name.")


def _database_rules(config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    is_snapshot = config.isolation_mode == "SQL_SERVER_SNAPSHOT"
    if config.connection_url and is_snapshot and not dialect_of(config.connection_url).sessions.has_snapshot_isolation:
        yield ConfigProblem(
            "transaction.isolation.mode", "transaction.isolation.mode=SQL_SERVER_SNAPSHOT is for SQL Server alone."
        )
    yield from dialect_problems(config.dialect_name, config.connection_url)
