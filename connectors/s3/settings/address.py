"""Makes settings of a sink from a URL `s3://bucket/folder`; the URL's parameters are further keys. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from connect.api.errors import ConfigError
from connect.api.optional.address import Addressed
from connectors.s3.formats.format_specs import PARQUET_FORMAT


def addressed(url: str, tables: Sequence[str]) -> Addressed | None:
    """Return the settings for an s3:// URL, with Parquet files of 1,000 rows, or None if the URL is of another kind.

    ConfigError: the URL names no bucket.
    """
    del tables
    parts = urlsplit(url)
    if parts.scheme.lower() != "s3":
        return None
    if not parts.netloc:
        raise ConfigError("The URL names no bucket.", key="s3.bucket.name", fix="Write it as s3://bucket/folder.")
    folder = parts.path.strip("/")
    config = {"s3.bucket.name": parts.netloc, "format.class": PARQUET_FORMAT, "flush.size": "1000"}
    return Addressed({**config, **({"topics.dir": folder} if folder else {}), **dict(parse_qsl(parts.query))})
