"""Finds offsets of tables that the connector does not read, for example because a person misspelt a name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.engine import CONNECT_S
from connectors.jdbc.database.catalog import choose_tables, list_tables
from connectors.jdbc.settings.config import JdbcSourceConfig, JdbcTaskConfig
from connectors.jdbc.settings.table_choice import TableName, from_text, likely_tables

_log = logging.getLogger(__name__)


def unread_given(config: JdbcSourceConfig, positions: Sequence[SourcePosition]) -> list[str]:
    """Return a sentence for each table of a given offset that no task will ever ask for; each is logged, too.

    The offsets are stored all the same, as Confluent's connector does.
    """
    given = _tables(positions)
    if not given:
        return []
    try:
        chosen = [] if config.query_text else _chosen(config)
    except ConnectError as error:
        _log.warning("Nobody knows if the given offsets are of tables that are read: %s", error)
        return []
    sentences = unread(given, chosen)
    for text in sentences:
        _log.warning("%s", text)
    return sentences


def unread_stored(config: JdbcTaskConfig, positions: Iterable[SourcePosition]) -> list[str]:
    """Return a sentence for each stored offset of a table that the connector does not read and whose name resembles one
    that the task reads.

    Other offsets are of tables that were dropped, or that another task reads. The database is asked only if a name
    resembles one.
    """
    own = from_text(config.tables)
    names = {text for table in own for text in (table.full, table.name)}
    alike = [name for name in _tables(positions) if name not in names and likely_tables([name], own)]
    try:
        return unread(alike, _chosen(config)) if alike else []
    except ConnectError as error:
        # The task reads its rows even if this fails.
        _log.info("Nobody knows if the offsets of %s are of tables that are read: %s", ", ".join(alike), error)
        return []


def unread(given: Sequence[str], chosen: Sequence[TableName]) -> list[str]:
    """Return a sentence for each table of an offset that is not read."""
    known = {text for table in chosen for text in (table.full, table.name)}
    sentences = []
    for name in dict.fromkeys(table for table in given if table not in known):
        likely = likely_tables([name], chosen)
        meant = f" Is {likely[0]} meant?" if likely else ""
        sentences.append(
            f"An offset was set of table {name}, which this connector does not read: it has no effect.{meant} Each "
            "table is named in full, as GET /connectors/NAME/offsets has it."
        )
    return sentences


def _tables(positions: Iterable[SourcePosition]) -> list[str]:
    return [str(p.partition["table"]) for p in positions if p.offset is not None and "table" in p.partition]


def _chosen(config: JdbcSourceConfig) -> list[TableName]:
    database = Database(config, connect_timeout_s=CONNECT_S)
    try:
        return choose_tables(database, config, list_tables(database, config))
    finally:
        database.close()
