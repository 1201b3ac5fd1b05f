"""Tells which converters no sink can have: those that write records and read none."""

from __future__ import annotations

from connect.api.plugin import PluginKind
from connect.plugins.catalog import Catalog


def unread(catalog: Catalog, key: str, name: str, kind: PluginKind) -> str | None:
    """Return why no sink can have this class as the converter of a key; None if one can, or nobody knows the class."""
    plugin = catalog.find(name, kind)
    if plugin is None or not plugin.read_by:
        return None
    return (
        f"Invalid value {name} for configuration {key}: {plugin.name} writes records and reads none, so no sink can "
        f"have it. {plugin.read_by}"
    )
