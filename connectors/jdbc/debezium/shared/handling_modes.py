"""Holds the values of the `*.handling.mode` keys and of time.precision.mode. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect.api.time_types import TimePrecision

BINARY_MODES: Final = ("bytes", "base64", "base64-url-safe", "hex")


@dataclass(frozen=True, slots=True)
class Handling:
    """Names the form of values for each type that has several forms, and how names of schemas and fields change."""

    decimals: str = "precise"
    times: TimePrecision = TimePrecision.ADAPTIVE
    intervals: str = "numeric"
    hstores: str = "json"
    binary: str = "bytes"
    unknown: bool = False
    unsigned: str = "long"
    adjusts_years: bool = True
    money_digits: int = 2
    schema_names: str = "none"
    field_names: str = "none"
