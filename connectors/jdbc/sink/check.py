"""Checks a configuration against the database: that it can be reached, and the rights and keys of existing tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import sqlalchemy as sa

from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.engine import CONNECT_S, REACH_S, reach
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.sink.database import DeniedError, TargetDatabase
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.statements import quoted
from connectors.jdbc.sink.target_tables import Target, TargetTables, table_name
from connectors.jdbc.sink.writer import statements_of


def check(config: JdbcSinkConfig, deadline: Deadline) -> Sequence[str]:
    """Return notes about checks that have to wait until a table exists.

    ConfigError holds every problem that was found.
    """
    database = TargetDatabase(config, connect_timeout_s=CONNECT_S)
    try:
        reach(database, config, deadline.sooner(REACH_S))
        database.close()
        notes: list[str] = []
        found = list(_problems(config, database, notes))
    finally:
        database.close()
    if found:
        raise ConfigError(found)
    return notes


def _problems(config: JdbcSinkConfig, database: TargetDatabase, notes: list[str]) -> Iterator[ConfigProblem]:
    targets = TargetTables(config, database, statements_of(config, database))
    for topic in config.named_topics:
        try:
            name = table_name(config, topic, database.writing)
            target = targets.find(topic)
        except ConnectError as error:
            yield ConfigProblem(error.key or "table.name.format", str(error))
            continue
        if target is not None:
            yield from _key_problems(config, database, target)
            yield from _missing_rights(config, database, target)
        elif not config.auto_create:
            notes.append(f"There is no table {name.full} for topic {topic}; tasks fail until it is there.")
        elif not _may_create(database, name):
            yield ConfigProblem(
                "auto.create", f"The user may not create table {name.full}: GRANT CREATE ON its schema."
            )


def _key_problems(config: JdbcSinkConfig, database: TargetDatabase, target: Target) -> Iterator[ConfigProblem]:
    if config.insert_mode != "upsert" or not config.key_columns or database.writing.upserts_by_any_key:
        return
    columns = [target.column(name) for name in config.key_columns]
    keys = frozenset(column.name for column in columns if column is not None)
    if why := target.upsert_refusal(keys):
        yield ConfigProblem("pk.fields", why)
    elif len(keys) == len(columns) and keys not in target.unique:
        yield ConfigProblem(
            "pk.fields",
            f"insert.mode=upsert finds rows by a primary key or unique index of exactly {', '.join(sorted(keys))}, and "
            f"table {target.name.full} has none: add one.",
        )


def _missing_rights(config: JdbcSinkConfig, database: TargetDatabase, target: Target) -> Iterator[ConfigProblem]:
    mark = database.writing.mark
    if not mark:
        return
    table, column = quoted(mark, *target.name), quoted(mark, next(iter(target.columns)))
    asked = {
        "INSERT": (config.insert_mode != "update", f"INSERT INTO {table} ({column}) VALUES (DEFAULT)"),  # noqa: S608 - quoted
        "SELECT, UPDATE": (config.is_keyed, f"UPDATE {table} SET {column} = {column} WHERE 1 = 0"),  # noqa: S608 - quoted
        "SELECT, DELETE": (config.delete_enabled, f"DELETE FROM {table} WHERE {column} = {column} AND 1 = 0"),  # noqa: S608 - quoted
    }
    for rights, (is_needed, statement) in asked.items():
        if is_needed and not _may(database, statement):
            user = _user(database)
            yield ConfigProblem(
                "connection.user",
                f"The user lacks a right on table {target.name.full}: GRANT {rights} ON {table} TO {user};",
            )


def _may(database: TargetDatabase, statement: str) -> bool:
    """Return True if a statement is allowed. Only its plan is asked for, which needs the same rights."""
    with suppress(ConnectError):
        try:
            database.change([f"EXPLAIN {statement}"], "asking for the user's rights")
        except DeniedError:
            return False
    return True


def _user(database: TargetDatabase) -> str:
    with database.transaction("asking for the user's name") as connection:
        name = str(connection.execute(sa.select(sa.func.current_user())).scalar())
    return database.writing.user(name)


def _may_create(database: TargetDatabase, name: TableName) -> bool:
    asked = database.writing.may_create
    if not asked:
        return True  # the others do not tell
    with database.transaction("asking for the user's rights") as connection:
        return bool(connection.execute(sa.text(asked), {"schema": name.schema}).scalar())
