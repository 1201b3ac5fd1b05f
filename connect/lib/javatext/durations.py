"""Reads a span of time as Java's `Duration.parse` does."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_SPAN: Final = re.compile(
    r"P(?=[\dT])(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+(?:[.,]\d{0,9})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)


def parse_duration(text: str) -> timedelta:
    """Return the span that a text such as `PT1H30M` or `P7D` means; negative ones are not allowed. ValueError: it is no
    span.
    """
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no span of time as ISO 8601 has it, such as PT1H or P7D")
    try:
        return timedelta(**{unit: float(number.replace(",", ".")) for unit, number in match.groupdict("0").items()})
    except OverflowError:
        raise ValueError(f"{text!r} is longer than {timedelta.max.days} days") from None
