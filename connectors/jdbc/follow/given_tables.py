"""Says which offsets that a person gives are of no table that the connector reads, as where a name is misspelt."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.engine import CONNECT_S
from connectors.jdbc.database.catalog import choose_tables, list_tables
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, likely_tables

_log = logging.getLogger(__name__)


def tell_unread(config: JdbcSourceConfig, positions: Sequence[SourcePosition]) -> None:
    """Warn of offsets that no task will ever ask for. They are stored all the same, as Confluent's connector does."""
    given = [p.partition["table"] for p in positions if p.offset is not None and "table" in p.partition]
    if not given:
        return
    try:
        chosen = [] if config.query_text else _chosen(config)
    except ConnectError as error:
        _log.warning("Nobody knows if the given offsets are of tables that are read: %s", error)
        return
    for text in unread(given, chosen):
        _log.warning("%s", text)


def unread(given: Sequence[object], chosen: Sequence[TableName]) -> list[str]:
    """Return a sentence for each given table that is not read."""
    known = {text for table in chosen for text in (table.full, table.name)}
    sentences = []
    for name in dict.fromkeys(str(table) for table in given if table not in known):
        likely = likely_tables([name], chosen)
        meant = f" Is {likely[0]} meant?" if likely else ""
        sentences.append(
            f"An offset was set of table {name}, which this connector does not read: it has no effect.{meant} Each "
            "table is named in full, as GET /connectors/NAME/offsets has it."
        )
    return sentences


def _chosen(config: JdbcSourceConfig) -> list[TableName]:
    database = Database(config, connect_timeout_s=CONNECT_S)
    try:
        return choose_tables(database, config, list_tables(database, config))
    finally:
        database.close()
