"""Declares the mirror source. Cheap: neither Arrow nor the task is imported."""

from __future__ import annotations

from typing import Final

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

MIRROR: Final = Plugin(
    kind=PluginKind.SOURCE,
    name="org.apache.kafka.connect.mirror.MirrorSourceConnector",
    factory="connectors.mirror.source:MirrorSourceConnector",
    config="connectors.mirror.config:MirrorSourceConfig",
    version=__version__,
    doc="Copies topics of another Kafka cluster byte for byte, as MirrorMaker does.",
    capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE}),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [MIRROR]
