"""Finds the known name that a person may have meant by one that nobody knows. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_ALIKE: Final = 0.8
"""How alike two names are at least, as `difflib` measures it: 1 for equal ones."""

_CHARS_MAX: Final = 200
"""Nobody means another name by a longer one, and comparing takes time by the square of it."""


def nearest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """Return the known name that is most like `name`, whatever its case; None where none is `alike` at least."""
    if len(name) > _CHARS_MAX:
        return None
    # What differs in length by more than that cannot be alike, and comparing takes time.
    least, most = len(name) * alike / (2 - alike), len(name) * (2 - alike) / alike
    folded = {one.casefold(): one for one in sorted(known, reverse=True) if least <= len(one) <= most}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=alike)
    return folded[found[0]] if found else None
