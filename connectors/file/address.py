"""Reads `file:///path` as the settings of a sink. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from connect.api.optional.address import Addressed


def addressed(url: str, tables: Sequence[str]) -> Addressed | None:
    """Return the settings that a file's URL gives; None if it is another kind of URL."""
    del tables
    return Addressed({"file": url.removeprefix("file://")}) if url.startswith("file:///") else None
