"""Describes what all jobs and tables of a connector have in common. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JobTerms:
    """Holds what jobs and tables have in common, in Google's own form of names; an empty one leaves it to Google.

    `reservation`: projects/P/locations/L/reservations/R, or none. `kms_key`: projects/P/locations/L/keyRings/R/
    cryptoKeys/K. `location`: where the dataset has to be.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    reservation: str = ""
    kms_key: str = ""
    location: str = ""
