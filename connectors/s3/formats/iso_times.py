"""Writes times as texts of ISO 8601 in UTC, as java.time.Instant prints them but with at least three digits. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_PER_MS: Final = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_YEAR_0_MS: Final = -62_167_219_200_000
_YEAR_10000_MS: Final = 253_402_300_800_000
"""From this millisecond on a year has more than four digits, and so a sign."""
_YEAR_DIGITS: Final = 4


def iso_texts(times: pa.TimestampArray) -> pa.LargeStringArray:
    """Return the text of each time; null if it is null. Digits below milliseconds are written where there are some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = times.type.unit
    if unit == "s":
        return iso_texts(times.cast(pa.timestamp("ms", "UTC")))
    numbers = times.cast(pa.int64())
    given = numbers.fill_null(0).to_numpy()
    whole_ms, rest = np.divmod(given, _PER_MS[unit])
    texts = _texts(whole_ms, "ms")
    if rest.any():
        texts = pc.if_else(pa.array(rest == 0), texts, _texts(given, unit))
    return pc.if_else(numbers.is_valid(), texts, pa.scalar(None, pa.large_string()))


def _texts(numbers: np.ndarray, unit: str) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    per_ms = _PER_MS[unit]
    if not len(numbers) or (numbers.min() >= _YEAR_0_MS * per_ms and numbers.max() < _YEAR_10000_MS * per_ms):
        found = pc.strftime(pa.array(numbers, pa.timestamp(unit, "UTC")), "%Y-%m-%dT%H:%M:%SZ")
        return found.cast(pa.large_string())
    # Arrow's years have 16 bits.
    texts = np.datetime_as_string(numbers.astype(f"datetime64[{unit}]")).tolist()
    return pa.array([_signed(text) for text in texts], pa.large_string())


def _signed(text: str) -> str:
    """Return the text with Java's sign before a year of more than four digits."""
    year = text[: text.index("-", 1)]
    if year.startswith("-"):
        return f"-{year[1:].zfill(_YEAR_DIGITS)}{text[len(year) :]}Z"
    return f"{'+' if len(year) > _YEAR_DIGITS else ''}{text}Z"
