"""Checks a configuration against the database: that it can be reached, and its tables, rights and cursor columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.engine import CONNECT_S, REACH_S, reach
from connectors.jdbc.database.catalog import choose_tables, describe, list_tables, unlisted_types
from connectors.jdbc.database.query import select, table_source
from connectors.jdbc.database.query_shape import describe_query
from connectors.jdbc.database.table_shape import TableShape
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.log import LogSupport
from connectors.jdbc.follow.cursors import incrementing_name, timestamp_names
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableFilter, TableName, likely_tables, same_topic
from connectors.jdbc.values.types import ColumnPlan, Raw

_ID_KINDS = {Raw.INTEGER, Raw.DECIMAL}
_TIMESTAMP_KINDS = {Raw.WALL_CLOCK, Raw.INSTANT, Raw.DATE}
_LIKELY = 3
"""A likely table is sought for at most this many names that no table has: each takes 0.2 s among 100,000 tables."""


def check(config: JdbcSourceConfig, deadline: Deadline) -> Sequence[str]:
    """Return notes about tables that are left aside while others are read.

    ConfigError holds every problem that was found.
    """
    notes: list[str] = []
    database = Database(config, connect_timeout_s=CONNECT_S)
    try:
        reach(database, config, deadline.sooner(REACH_S))
        found = list(_timeout_problems(database, config))
        found += _query_problems(database, config) if config.query_text else _problems(database, config, notes)
    finally:
        database.close()
    if found:
        raise ConfigError(found)
    return [*notes, *filter(None, [database.dialect.caution])]


def _timeout_problems(database: Database, config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    if config.statement_timeout_ms and not database.dialect.server.ends_statements(database):
        yield ConfigProblem(
            "statement.timeout.ms",
            "This server cannot end statements (MariaDB can from version 10.1.1 on, MySQL from 5.7.8 on): leave "
            "statement.timeout.ms out.",
        )


def _query_problems(database: Database, config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    key = "query" if config.query else "query.masked"
    try:
        shape = describe_query(database, config)
    except ConnectError as error:
        # The database's message may repeat the query.
        text = error.message if config.query else "The database refuses the query."
        yield ConfigProblem(key, f"{text} Mend the query; it must be one SELECT with a name for every column.")
        return
    yield from _cursor_problems(None, shape, config, database.dialect.cursors)


def _problems(database: Database, config: JdbcSourceConfig, notes: list[str]) -> Iterator[ConfigProblem]:
    for kind in unlisted_types(database, config):
        yield ConfigProblem(
            "table.types",
            f"Nothing can be listed for table.types={kind}; use TABLE, VIEW, PARTITIONED TABLE, LOCAL TEMPORARY, and "
            "with PostgreSQL MATERIALIZED VIEW.",
        )
    present = list_tables(database, config)
    chosen = choose_tables(database, config, present)
    yield from unmatched(config, database.errors.database, present, chosen, notes)
    yield from topic_problems(chosen, config)
    log = database.dialect.log if config.mode == "log" else None
    if log is not None:
        chosen, problems = _logged(log.without_log(database, config, chosen), chosen, notes)
        yield from problems
    rights = database.dialect.rights
    refused: dict[TableName, str] = {}
    shapes: dict[TableName, TableShape] = {}
    for table in chosen:
        try:
            shape = shapes[table] = _readable(database, table, config)
        except ConnectError as error:
            # In PostgreSQL a transaction in which a statement failed runs no further statement.
            database.end_transaction()
            grants = " ".join(right.statement for right in rights.missing(database, config, [table]) if right.table)
            refused[table] = f"{error.message} {grants or error.fix or 'Grant SELECT on it.'}"
        else:
            yield from _cursor_problems(table, shape, config, database.dialect.cursors)
    if log is not None:
        yield from log.problems(database, config, list(shapes))
        notes += filter(None, [log.note(database, config)])
        notes += _repeats(log, database, config, shapes)
    if len(refused) == len(chosen):
        yield from (ConfigProblem("table.whitelist", text) for text in refused.values())
        return
    notes += [f"A table cannot be read and is left aside: {text}" for text in refused.values()]


def topic_problems(chosen: Sequence[TableName], config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    """Yield a problem for tables whose rows would share a topic, where a key may name a row of each; as in Java."""
    for topic, tables in same_topic(chosen, config).items():
        names = ", ".join(table.full for table in tables)
        yield ConfigProblem(
            "table.include.list" if config.table_include else "table.whitelist",
            f"Several tables would share the topic {topic}: {names}. Name the one to read in full, put ${{schema}} "
            "into topic.name.format, or read them with connectors of their own.",
        )


def unmatched(
    config: JdbcSourceConfig, where: str, present: Sequence[TableName], chosen: Sequence[TableName], notes: list[str]
) -> Iterator[ConfigProblem]:
    """Yield a problem for names that no table has. As in Java the other tables are read meanwhile, if there are any."""
    for key, names in TableFilter.of(config).unmatched(present).items():
        likely = likely_tables(names[:_LIKELY], set(present) - set(chosen))
        meant = "".join(f" Is {table} meant?" for table in likely)
        missing = f"No table matches {', '.join(names)} of {key} in {where}.{meant}"
        if not chosen:
            yield ConfigProblem(key, f"{missing} Create it, or take it out of {key}.")
        else:
            notes.append(f"{missing} It is read as soon as it is there.")


def _logged(
    aside: Mapping[TableName, str], chosen: Sequence[TableName], notes: list[str]
) -> tuple[list[TableName], list[ConfigProblem]]:
    """Return the tables whose changes the log has, without those left aside; and problems if no table remains."""
    texts = [f"Table {table.full} cannot be followed by the log. {why}" for table, why in aside.items()]
    if aside and len(aside) == len(chosen):
        return [], [ConfigProblem("table.whitelist", text) for text in texts]
    notes += [f"{text} It is left aside." for text in texts]
    return [table for table in chosen if table not in aside], []


def _repeats(
    log: LogSupport, database: Database, config: JdbcSourceConfig, shapes: Mapping[TableName, TableShape]
) -> Iterator[str]:
    if config.snapshot_mode not in {"no_data", "never"}:
        for table, shape in shapes.items():
            if note := log.repeats(database, table, shape, config.max_batch_size):
                yield note


def _readable(database: Database, table: TableName, config: JdbcSourceConfig) -> TableShape:
    shape = describe(database, table, config)
    source = table_source(table, shape.columns, quote=config.quotes_identifiers)
    # No row is read, as it may hold what the driver cannot read.
    database.rows(select(source, limit=0), f"reading table {table.full}")
    return shape


def _cursor_problems(
    table: TableName | None, shape: TableShape, config: JdbcSourceConfig, cursors: Cursors
) -> Iterator[ConfigProblem]:
    label = "The query" if table is None else f"Table {table.full}"
    if "incrementing" in config.mode:
        yield from _incrementing_problems(label, table, shape, config)
    if "timestamp" in config.mode:
        kinds = _TIMESTAMP_KINDS | cursors.further_timestamps
        yield from _timestamp_problems(label, table, shape, config, kinds)


def _incrementing_problems(
    label: str, table: TableName | None, shape: TableShape, config: JdbcSourceConfig
) -> Iterator[ConfigProblem]:
    key = "incrementing.column.mapping" if config.incrementing_columns else "incrementing.column.name"
    try:
        name = incrementing_name(table, shape, config)
    except ValueError as error:
        yield ConfigProblem(key, f"{key}: {error}.")
        return
    if name is None:
        yield ConfigProblem(key, f"{label} has no auto-increment column: name a strictly increasing one in {key}.")
        return
    column = shape.find(name)
    if column is None:
        yield _missing(key, label, name, shape)
        return
    if column.raw not in _ID_KINDS:
        yield ConfigProblem(
            key,
            f"{label}: {name} holds {column.raw}, but an incrementing column must hold whole numbers: name another.",
        )
    if config.validate_non_null and table is not None and column.name not in shape.not_null:
        yield ConfigProblem(
            key,
            f"{label}: {name} may be NULL, and rows without an id are never read: make it NOT NULL, or accept that "
            "with validate.non.null=false.",
        )


def _timestamp_problems(
    label: str, table: TableName | None, shape: TableShape, config: JdbcSourceConfig, kinds: AbstractSet[Raw]
) -> Iterator[ConfigProblem]:
    key = "timestamp.columns.mapping" if config.timestamp_columns_mapping else "timestamp.column.name"
    try:
        names = timestamp_names(table, config)
    except ValueError as error:
        yield ConfigProblem(key, f"{key}: {error}.")
        return
    columns: list[ColumnPlan] = []
    for name in names:
        column = shape.find(name)
        if column is None:
            yield _missing(key, label, name, shape)
        else:
            columns.append(column)
    for column in columns:
        if column.raw not in kinds:
            yield ConfigProblem(
                key, f"{label}: {column.name} holds {column.raw}, not a timestamp: name another column."
            )
    if config.validate_non_null and table and columns and not any(c.name in shape.not_null for c in columns):
        yield ConfigProblem(
            key,
            f"{label}: {', '.join(names)} may be NULL, and rows without a timestamp are never read: make one NOT NULL, "
            "or accept that with validate.non.null=false.",
        )


def _missing(key: str, label: str, name: str, shape: TableShape) -> ConfigProblem:
    return ConfigProblem(
        key, f"{label} has no column {name} ({key}); it has {', '.join(c.name for c in shape.columns)}."
    )
