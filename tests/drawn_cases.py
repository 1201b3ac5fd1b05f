"""How many random cases a test draws: a few, the same for everyone, or many others in `make chaos`.

And the cases of a test of which the quick tests try a few, and `make test` all.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

DRAWN = bool(os.environ.get("CONNECT_DRAWN_CASES"))
"""`make chaos` sets it: each run draws other cases."""


def cases(few: int, *, drawn: int) -> int:
    """Return `drawn` where each run draws others, else `few`."""
    return drawn if DRAWN else few


def quick_first(quick: int, *, of: int) -> list[Any]:
    """Return the parameters 0 to `of` - 1 of a test in tests/unit; all but the first `quick` ones are thorough."""
    others = (pytest.param(number, marks=pytest.mark.thorough) for number in range(quick, of))
    return [*range(quick), *others]
