"""Warns of statements in a binary log that change tables without rows in it. No I/O but lines in the worker's log."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection

from connectors.jdbc.settings.table_choice import TableName

_log = logging.getLogger(__name__)
_LOGGED_AS_TEXT = re.compile(r"(?i)\s*(INSERT|UPDATE|DELETE|REPLACE|LOAD DATA)\b")
_TRUNCATE = re.compile(r"(?i)\s*TRUNCATE\s+(?:TABLE\s+)?(?:`?([^`.\s]+)`?\s*\.\s*)?`?([^`.\s;]+)`?")
_RENAME = re.compile(
    r"(?is)\s*(?:RENAME\s+TABLES?\b|ALTER\s+(?:\w+\s+)*?TABLE\b.*\bRENAME\s+(?!COLUMN\b|INDEX\b|KEY\b))"
)
_OF_PARTITIONS = re.compile(
    r"(?is)\s*ALTER\s+(?:\w+\s+)*?TABLE\b.*\b(?:EXCHANGE|DROP|TRUNCATE|CONVERT)\s+(?:PARTITION|TABLE)\b"
)
_ROLLED_BACK = re.compile(r"(?i)\s*XA\s+ROLLBACK\b")


def tell(text: str, schema: str, tables: Collection[TableName]) -> None:
    """Warn of a statement that makes tables and topics differ. `schema` is the database in which it was run."""
    if _TRUNCATE.match(text) is not None:
        _log.warning("A table was truncated: its rows stay in its topic. %s", text[:200])
    if _OF_PARTITIONS.match(text) and any(_names(text, table.name) for table in tables):
        _log.warning(
            "Partitions of a table were exchanged, dropped or emptied: the log does not tell which rows went or came. "
            "A snapshot of the connector, after its offsets were reset, has all rows. %s",
            text[:200],
        )
    if _RENAME.match(text) and any(_names(text, table.name) for table in tables):
        _log.warning(
            "A table was renamed: changes of it are read on where the table filter takes its new name. %s",
            text[:200],
        )
    if _ROLLED_BACK.match(text):
        _log.warning(
            "A prepared transaction was rolled back: what it changed was sent when it was prepared, as the log tells "
            "it then. %s",
            text[:200],
        )
    change = _LOGGED_AS_TEXT.match(text)
    if change is not None:
        _log.warning(
            "%s in database %s was logged as a statement, whose rows are not known here: they are missing. "
            "See that no session sets binlog_format to anything but ROW.",
            change[1].upper(),
            schema,
        )


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
