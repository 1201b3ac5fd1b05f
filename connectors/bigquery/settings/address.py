"""Reads `bigquery://project/dataset` as the settings of a sink; the parameters of the URL are further keys. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from connect.api.errors import ConfigError
from connect.api.optional.address import Addressed


def addressed(url: str, tables: Sequence[str]) -> Addressed | None:
    """Return the settings of a URL, with credentials from the environment; None for another kind of URL."""
    del tables
    parts = urlsplit(url)
    if parts.scheme.lower() != "bigquery":
        return None
    dataset = parts.path.strip("/")
    if not parts.netloc or not dataset:
        raise ConfigError(
            "The URL names no project or no dataset.", key="defaultDataset",
            fix="Write it as bigquery://project/dataset.",
        )  # fmt: skip
    config = {"project": parts.netloc, "defaultDataset": dataset, "keySource": "APPLICATION_DEFAULT"}
    return Addressed({**config, "sanitizeTopics": "true", **dict(parse_qsl(parts.query))})
