"""Declares the Redis sinks. Cheap: neither Arrow nor the client is imported."""

from __future__ import annotations

from typing import Final

from connect import __version__
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl

REDIS: Final = Plugin(
    kind=PluginKind.SINK,
    name="com.redis.kafka.connect.RedisSinkConnector",
    factory="connectors.redis.sink:RedisSinkConnector",
    config="connectors.redis.config:RedisSinkConfig",
    version=__version__,
    doc="Writes records into streams, lists, sets, hashes or keys of Redis, by the settings of Redis's own sink.",
    capabilities=frozenset({Capability.OFFSETS_ALTERABLE}),
)
HOSTS: Final = Plugin(
    kind=PluginKind.SINK,
    name="com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",
    factory="connectors.redis.sink:RedisSinkConnector",
    config="connectors.redis.config:HostsRedisSinkConfig",
    version=__version__,
    doc="Sets a key of Redis for each record, by the settings of Jeremy Custenborder's sink.",
    capabilities=frozenset({
        Capability.EXACTLY_ONCE, Capability.DELETES, Capability.UPDATES, Capability.OFFSETS_ALTERABLE,
    }),
)  # fmt: skip


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return the plug-ins of this package."""
    return [REDIS, HOSTS]
