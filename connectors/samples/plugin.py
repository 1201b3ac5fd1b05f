"""Declares the sources of made up rows. Cheap: neither Arrow nor the tasks are imported."""

from __future__ import annotations

from typing import Final

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

DATAGEN: Final = Plugin(
    kind=PluginKind.SOURCE,
    name="io.confluent.kafka.connect.datagen.DatagenConnector",
    factory="connectors.samples.datagen.source:DatagenConnector",
    config="connectors.samples.datagen.config:DatagenConfig",
    version=__version__,
    doc="Makes up rows to try things with: orders, users, page views and more, or of a schema of yours.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE}),
)

_NUMBERED: Final = (
    (
        "VerifiableSourceConnector",
        "connectors.samples.numbered.config:VerifiableSourceConfig",
        "Sends rows that are their numbers, to verify that none is lost.",
    ),
    (
        "SchemaSourceConnector",
        "connectors.samples.numbered.config:SchemaSourceConfig",
        "Sends numbered rows of several types, and of two versions of a schema.",
    ),
)
NUMBERED: Final = tuple(
    Plugin(
        kind=PluginKind.SOURCE,
        name=f"org.apache.kafka.connect.tools.{name}",
        factory="connectors.samples.numbered.source:NumberedConnector",
        config=config,
        version=__version__,
        doc=doc,
        capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE}),
    )
    for name, config, doc in _NUMBERED
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [DATAGEN, *NUMBERED]
