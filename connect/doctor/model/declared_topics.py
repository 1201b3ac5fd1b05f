"""Tells which topics a configuration names, before the connector runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SOURCE_TOPIC: Final = ("topic", "kafka.topic")
_TABLES: Final = ("table.whitelist", "table.include.list")


def declared_topics(config: Mapping[str, str], *, is_sink: bool) -> list[str]:
    """Return the topics that a sink reads, or the topics of a source that its keys name.

    A source with transforms has none here, as a transform may route its rows to other topics.
    """
    if is_sink:
        return _texts(config.get("topics", ""))
    if config.get("transforms"):
        return []
    tables = [table for key in _TABLES for table in _texts(config.get(key, ""))]
    named = [config[key].strip() for key in _SOURCE_TOPIC if config.get(key, "").strip()]
    return list(dict.fromkeys([*named, *(f"{config.get('topic.prefix', '')}{table}" for table in tables)]))


def _texts(value: str) -> list[str]:
    return [text.strip() for text in value.split(",") if text.strip()]
