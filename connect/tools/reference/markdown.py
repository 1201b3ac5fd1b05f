"""Turns plain text into Markdown that shows it as it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_CODE: Final = re.compile(r"(`[^`]*`)")
_MARKUP: Final = re.compile(r"([*\[\]<>|\\])")


def escaped(text: str) -> str:
    """Return a text on one line, what Markdown would take for markup escaped. Spans in backticks stay code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        # A bar ends a cell even in code.
        part.replace("|", r"\|") if number % 2 else _MARKUP.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )


def code(text: str) -> str:
    """Return a text as code, on one line; backticks in it become apostrophes."""
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", r"\|") + "`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, its cells being Markdown already; no lines where there are no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return []
    return [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |", *lines, ""]
