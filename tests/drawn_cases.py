"""How many random cases a test draws: a few, the same for everyone, or many others in `make chaos`."""

from __future__ import annotations

import os

DRAWN = bool(os.environ.get("CONNECT_DRAWN_CASES"))
"""`make chaos` sets it: each run draws other cases."""


def cases(few: int, *, drawn: int) -> int:
    """Return `drawn` where each run draws others, else `few`."""
    return drawn if DRAWN else few
