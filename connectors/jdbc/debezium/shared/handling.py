"""Holds what the `*.handling.mode` keys and time.precision.mode say of values. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect.api.time_types import TimePrecision

BINARY_MODES: Final = ("bytes", "base64", "base64-url-safe", "hex")


@dataclass(frozen=True, slots=True)
class Handling:
    """Tells how values of the types that have several forms are told."""

    decimals: str = "precise"
    times: TimePrecision = TimePrecision.ADAPTIVE
    intervals: str = "numeric"
    hstores: str = "json"
    binary: str = "bytes"
    unknown: bool = False
    unsigned: str = "long"
    adjusts_years: bool = True
