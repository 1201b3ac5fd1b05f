"""Describes the settings that all jobs and tables of a connector share. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JobTerms:
    """Holds the settings that jobs and tables share, in Google's form of names. If one is empty, Google chooses.

    `reservation` has the form projects/P/locations/L/reservations/R, or is none. `kms_key` has the form
    projects/P/locations/L/keyRings/R/cryptoKeys/K. `location` is the location that the dataset has to have.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    reservation: str = ""
    kms_key: str = ""
    location: str = ""
