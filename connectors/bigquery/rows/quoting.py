"""Quotes names and texts for BigQuery's SQL."""

from __future__ import annotations

from collections.abc import Callable

Quote = Callable[[str], str]
"""Quotes the name of a column for a dialect of SQL."""


def backticks(name: str) -> str:
    """Quote the name of a column for BigQuery."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(text: str) -> str:
    """Return a STRING literal for BigQuery."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
