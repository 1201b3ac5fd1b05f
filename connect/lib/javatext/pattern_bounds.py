"""Bounds what compiling a regular expression costs, before it is compiled: whoever sends one to a worker chooses it.

Pure. Matching has a limit of its own (`timed_pattern`).
"""

from __future__ import annotations

import re
from typing import Final

LENGTH_MAX: Final = 32_768
"""Characters that a pattern may have, also in Python's form: compiling it takes 0.2 s of CPU at the most."""
WIDE_RANGES_MAX: Final = 100
"""Ranges of characters that may end beyond Latin-1: compiling takes up to 10 ms of CPU for each, as it looks at up to
65536 characters."""
SHOWN_CHARS: Final = 500
"""An error shows so much of a pattern."""
_WIDE_RANGE: Final = re.compile(r"-(?:\\[uUN]|[^\x00-\xff])")


def too_long(text: str) -> str | None:
    """Return what is wrong with a pattern of this length; None: nothing."""
    if len(text) <= LENGTH_MAX:
        return None
    return f"It has {len(text)} characters, and no more than {LENGTH_MAX} are compiled: write a shorter one"


def ranges_too_wide(text: str) -> str | None:
    """Return what is wrong with ranges of a pattern in Python's form that would take long; None: nothing."""
    count = len(_WIDE_RANGE.findall(text))
    if count <= WIDE_RANGES_MAX:
        return None
    return f"It has {count} ranges that end beyond \\u00ff, and no more than {WIDE_RANGES_MAX} are compiled"


def beginning(pattern: str) -> str:
    """Return as much of a pattern as an error shows."""
    return pattern if len(pattern) <= SHOWN_CHARS else f"{pattern[:SHOWN_CHARS]}…"
