"""Refuses what `json.loads` takes beyond the standard, given as its `parse_float` and `parse_constant`."""

from __future__ import annotations

import math
from typing import NoReturn


def finite_number(text: str) -> float:
    """Return the double that a number spells. Raise ValueError if it is beyond a double's range."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is out of range of a double")
    return number


def no_constant(text: str) -> NoReturn:
    """Raise ValueError for NaN, Infinity and -Infinity."""
    raise ValueError(f"{text} is no JSON number")
