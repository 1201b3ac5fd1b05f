"""Defines how a connector's configuration is made from one URL, for commands that a person types without a file: see
`Plugin.address`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Addressed:
    """Holds the configuration made from a URL. `topics` are those that a source writes to; they are empty for a
    sink.
    """

    config: Mapping[str, str]
    topics: Sequence[str] = ()
