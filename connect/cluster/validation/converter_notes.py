"""Finds keys that the converters of a connector do not know. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from connect.api.config import Config, former_names
from connect.api.plugin import PluginKind
from connect.cluster.validation.notes import NO_EFFECT, UNKNOWN_MAX
from connect.cluster.validation.plugins import CONVERTERS
from connect.lib.nearest import nearest
from connect.plugins.catalog import Catalog

_FRAMEWORKS = ("plugin.version", "converter.type")
"""The framework itself reads these of each converter."""


def converter_notes(catalog: Catalog, given: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each key that its converter does not know, if the connector names the converter's class.

    Keys that another converter knows are left out, as many people give `schemas.enable` to all converters, as in Java.
    """
    for side, kind in CONVERTERS.items():
        prefix, name = f"{side}.converter.", given.get(f"{side}.converter", "").strip()
        plugin = catalog.find(name, kind) if name else None
        if plugin is None:
            continue
        known = _names(plugin.config)
        own = [key.removeprefix(prefix) for key in given if key.startswith(prefix)]
        unknown = [key for key in own if key not in known and not key.startswith(plugin.config.families)]
        others = _of_all(catalog, kind) if unknown else ()
        for key in [key for key in unknown if key not in others][:UNKNOWN_MAX]:
            near = nearest(key, known)
            meant = f" Is {prefix}{near} meant?" if near else ""
            yield f"{prefix}{key}: {plugin.name} has no such key, so it has {NO_EFFECT}.{meant}"


def _of_all(catalog: Catalog, kind: PluginKind) -> Collection[str]:
    found = (plugin.found_config for plugin in catalog.plugins(kind))
    return {name for config in found if config is not None for name in _names(config)}


def _names(config: type[Config]) -> Collection[str]:
    return {*(definition.name for definition in config.definitions()), *former_names(config), *_FRAMEWORKS}
