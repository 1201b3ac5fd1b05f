"""Answers the herder's questions about connectors from the declarations of the installed plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from connect.api.plugin import Capability, Plugin, PluginKind
from connect.cluster.loop.herder_parts import Kind
from connect.plugins.asked_addresses import asked_addresses
from connect.plugins.catalog import CONNECTORS, Catalog

_KNOWN_CLASSES: Final = 1000
"""So many classes are remembered once they are found, as the herder asks about each connector each second."""


class InstalledConnectors:
    """Answers as a `ConnectorCatalog` from the installed plug-ins. It is immutable."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._found = lru_cache(_KNOWN_CLASSES)(lambda name: catalog.find(name.strip(), *CONNECTORS))

    def kind(self, config: Mapping[str, str]) -> Kind:
        """Return the connector's kind; `unknown` when no plug-in has the configuration's class."""
        plugin = self._plugin(config)
        if plugin is None:
            return "unknown"
        return "source" if plugin.kind is PluginKind.SOURCE else "sink"

    def version(self, config: Mapping[str, str]) -> str | None:
        """Return the plug-in's version; None when no plug-in has the configuration's class."""
        plugin = self._plugin(config)
        return None if plugin is None else plugin.version

    def task_class(self, config: Mapping[str, str]) -> str | None:
        """Return the class of the connector's tasks by the custom of Java connectors: FileStreamSourceConnector has a
        FileStreamSourceTask.
        """
        plugin = self._plugin(config)
        return None if plugin is None else f"{plugin.name.removesuffix('Connector')}Task"

    def keeps_no_offsets(self, config: Mapping[str, str]) -> bool:
        """Return True if the plug-in declares that it keeps no offsets of its own beside the framework's."""
        return self._declares(config, Capability.OFFSETS_ALTERABLE)

    def cleans_up(self, config: Mapping[str, str]) -> bool:
        """Return True if the plug-in declares that it has to clean up elsewhere when its connector is deleted."""
        return self._declares(config, Capability.CLEANUP)

    def asked_addresses(self, config: Mapping[str, str]) -> str:
        """Return the keys and addresses that the connector asks, without secrets; empty: it declares none."""
        return asked_addresses(self._catalog, config)

    def _declares(self, config: Mapping[str, str], capability: Capability) -> bool:
        plugin = self._plugin(config)
        return plugin is not None and capability in plugin.capabilities

    def _plugin(self, config: Mapping[str, str]) -> Plugin | None:
        return self._found(config.get("connector.class", ""))
