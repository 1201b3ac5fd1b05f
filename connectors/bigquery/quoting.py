"""Names and texts as they stand in BigQuery's SQL."""

from __future__ import annotations

from collections.abc import Callable

Quote = Callable[[str], str]
"""From a column's name to that name in a dialect's SQL."""


def backticks(name: str) -> str:
    """A column's name in BigQuery's SQL."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(text: str) -> str:
    """A STRING in BigQuery's SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
