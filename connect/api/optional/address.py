"""Defines how a connector's configuration is made from one URL, for commands that a person types without a file: see
`Plugin.address`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Addressed:
    """What a URL comes to. topics: those that a source writes to; empty for a sink."""

    config: Mapping[str, str]
    topics: Sequence[str] = ()
