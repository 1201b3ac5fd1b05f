"""Limits the cost of compiling a regular expression, before it is compiled: anybody may send one to a worker.

Pure. Matching has a limit of its own (`timed_pattern`).
"""

from __future__ import annotations

import re
from typing import Final

LENGTH_MAX: Final = 32_768
"""A pattern may have this many characters, also in Python's form: compiling it takes 0.2 s of CPU at most."""
WIDE_RANGES_MAX: Final = 100
"""A pattern may have this many ranges of characters that end beyond Latin-1. Compiling takes up to 10 ms of CPU for
each, as it looks at up to 65536 characters.
"""
SHOWN_CHARS: Final = 500
"""An error shows at most this many characters of a pattern."""
_WIDE_RANGE: Final = re.compile(r"-(?:\\[uUN]|[^\x00-\xff])")


def too_long(text: str) -> str | None:
    """Return what is wrong with a pattern that is too long; None if it is not."""
    if len(text) <= LENGTH_MAX:
        return None
    return f"It has {len(text)} characters, and no more than {LENGTH_MAX} are compiled: write a shorter one"


def ranges_too_wide(text: str) -> str | None:
    """Return what is wrong with a pattern, in Python's form, whose ranges take too long to compile; None if nothing
    is.
    """
    count = len(_WIDE_RANGE.findall(text))
    if count <= WIDE_RANGES_MAX:
        return None
    return f"It has {count} ranges that end beyond \\u00ff, and no more than {WIDE_RANGES_MAX} are compiled"


def beginning(pattern: str) -> str:
    """Return the part of a pattern that an error shows."""
    return pattern if len(pattern) <= SHOWN_CHARS else f"{pattern[:SHOWN_CHARS]}…"
