"""Decides how many random cases a test draws: a few, the same for everybody, or many others in `make chaos`.

It also divides the cases of a test into a few that quick tests try, and the others, which `make test` tries too.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

DRAWN = bool(os.environ.get("CONNECT_DRAWN_CASES"))
"""`make chaos` sets this variable; then each run draws other cases."""


def cases(few: int, *, drawn: int) -> int:
    """Return `drawn` if each run draws other cases, or else `few`."""
    return drawn if DRAWN else few


def quick_first(quick: int, *, of: int) -> list[Any]:
    """Return the parameters 0 to `of` - 1 of a test in tests/unit; all but the first `quick` are marked as thorough."""
    others = (pytest.param(number, marks=pytest.mark.thorough) for number in range(quick, of))
    return [*range(quick), *others]
