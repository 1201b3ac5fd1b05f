"""Builds what all task hosts make of the declarations of settings, before they are forked and share it.

A declaration is built when it is first used. Each host would build those of the worker and of connectors by itself, in
pages of its own: that is 5 MiB and 15 ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.api.config import Config, former_names, leave_keys
from connect.api.plugin import PluginKind
from connect.plugins.catalog import Catalog
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig

CONVERTERS: Final = (
    (PluginKind.CONVERTER, "org.apache.kafka.connect.json.JsonConverter"),
    (PluginKind.CONVERTER, "org.apache.kafka.connect.storage.StringConverter"),
    (PluginKind.HEADER_CONVERTER, "org.apache.kafka.connect.storage.SimpleHeaderConverter"),
)
"""Names the converters that nearly every host uses."""


def build_shared_settings(catalog: Catalog) -> None:
    """Build the declarations that nearly every host uses."""
    for declaration in shared(catalog):
        declaration.model_rebuild()
        declaration.definitions()
        leave_keys(declaration)
        former_names(declaration)


def shared(catalog: Catalog) -> Iterator[type[Config]]:
    """Yield the declarations that nearly every host uses."""
    yield from (WorkerConfig, SourceConnectorConfig, SinkConnectorConfig)
    for kind, name in CONVERTERS:
        plugin = catalog.find(name, kind)
        if plugin is not None and plugin.found_config is not None:
            yield plugin.found_config
