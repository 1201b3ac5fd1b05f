"""Finds the known name that a person may have meant by an unknown one. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_ALIKE: Final = 0.8
"""Two names must have at least this likeness, as `difflib` measures it; equal names have 1."""

_CHARS_MAX: Final = 200
"""A longer name is compared with none: nobody means another by it, and the time grows with the square of the length."""


def nearest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """Return the known name that is most like `name`, in any case of letters; None if none has a likeness of
    `alike`.
    """
    if len(name) > _CHARS_MAX:
        return None
    # Names whose lengths differ more cannot be alike enough, and comparing them takes time.
    least, most = len(name) * alike / (2 - alike), len(name) * (2 - alike) / alike
    folded = {one.casefold(): one for one in sorted(known, reverse=True) if least <= len(one) <= most}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=alike)
    return folded[found[0]] if found else None
