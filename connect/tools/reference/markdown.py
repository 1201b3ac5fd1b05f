"""Makes Markdown that shows plain text as it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_CODE: Final = re.compile(r"(`[^`]*`)")
_MARKUP: Final = re.compile(r"([*\[\]<>|\\])")


def escaped(text: str) -> str:
    """Return a text on one line, with all markup escaped except for code in backticks."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        # A bar would end a table's cell even in code.
        part.replace("|", r"\|") if number % 2 else _MARKUP.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )


def code(text: str) -> str:
    """Return a text as code, on one line; its backticks become apostrophes."""
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", r"\|") + "`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table. Its cells are Markdown already. Without rows there are no lines."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return []
    return [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |", *lines, ""]
