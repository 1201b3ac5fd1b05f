"""Converts key declarations to the definitions that REST shows, in Kafka Connect's order. Pure.

The order of the framework's keys and their numbers are those of ConnectorConfig, SourceConnectorConfig and
SinkConnectorConfig of Kafka 4.1, as its REST API shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from connect.api.allowed import ConfigType
from connect.api.config import Config, KeyDefinition
from connect.api.plugin import Plugin, PluginKind
from connect.cluster.model.validation_infos import Definition
from connect.plugins.catalog import CONNECTORS
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig

FRAMEWORK_ORDER: Final = {
    "name": 1, "connector.class": 2, "connector.plugin.version": 3, "tasks.max": 4, "tasks.max.enforce": 5,
    "key.converter": 6, "key.converter.plugin.version": 7, "value.converter": 8, "value.converter.plugin.version": 9,
    "header.converter": 10, "header.converter.plugin.version": 11, "transforms": 12, "predicates": 13,
    "config.action.reload": 14,
    "errors.retry.timeout": 1, "errors.retry.delay.max.ms": 2, "errors.tolerance": 3, "errors.log.enable": 4,
    "errors.log.include.messages": 5,
    "topic.creation.groups": 1, "exactly.once.support": 2, "transaction.boundary": 3,
    "transaction.boundary.interval.ms": 4, "offsets.storage.topic": 1,
    "topics": 4, "topics.regex": 4,
    "errors.deadletterqueue.topic.name": 6, "errors.deadletterqueue.topic.replication.factor": 7,
    "errors.deadletterqueue.context.headers.enable": 8,
}  # fmt: skip
"""These are the framework's keys in the order in which they are shown, each with its order in its group."""

CONVERTER_TYPE: Final = Definition(
    name="converter.type",
    type=ConfigType.STRING.value,
    required=True,
    default_value=None,
    importance="LOW",
    documentation="What is converted: key, value or header. Set by the framework.",
    group=None,
    width="NONE",
    display_name="converter.type",
    dependents=(),
    order=-1,
)
"""Kafka Connect's converters of keys and values all show this key; pure header converters do not."""

_IMPORTANCES: Final = ("HIGH", "MEDIUM", "LOW")


def framework_config(kind: PluginKind) -> type[SourceConnectorConfig | SinkConnectorConfig]:
    """Return the framework's own keys of a source or a sink."""
    return SourceConnectorConfig if kind is PluginKind.SOURCE else SinkConnectorConfig


def framework_definitions(kind: PluginKind) -> list[Definition]:
    """Return the definitions of the framework's keys of a source or a sink, in order."""
    keys = {key.name: key for key in framework_config(kind).definitions() if not key.internal}
    return [
        _definition(keys[name], group=keys[name].group, order=order)
        for name, order in FRAMEWORK_ORDER.items()
        if name in keys
    ]


def plugin_definitions(plugin: Plugin) -> list[Definition]:
    """Return the definitions of a plug-in's own keys in declaration order, numbered in their groups.

    Only connectors have groups of their own. Kafka Connect shows the keys of all other plug-ins in a group of the
    connector.
    """
    places: Counter[str] = Counter()
    definitions = [CONVERTER_TYPE] if _takes_converter_type(plugin) else []
    for key in shown(plugin.config):
        group = key.group if plugin.kind in CONNECTORS else ""
        places[group] += 1
        definitions.append(_definition(key, group=group or None, order=places[group] if group else -1))
    return definitions


def all_definitions(plugin: Plugin) -> list[Definition]:
    """Return the definitions that `GET /connector-plugins/{plugin}/config` shows.

    These are the plug-in's keys and, for a connector, the framework's keys after them.
    """
    own = plugin_definitions(plugin)
    if plugin.kind not in CONNECTORS:
        return own
    names = {definition.name for definition in own}
    return own + [d for d in framework_definitions(plugin.kind) if d.name not in names]


def embedded_definitions(definitions: Iterable[Definition], *, prefix: str, group: str, start: int) -> list[Definition]:
    """Return keys of a plug-in inside another's configuration, sorted and numbered as ConfigDef.embed does."""
    ordered = sorted(definitions, key=_embedding_order)
    return [
        Definition(
            name=prefix + d.name,
            type=d.type,
            required=d.required,
            default_value=d.default_value,
            importance=d.importance,
            documentation=d.documentation,
            group=f"{group}: {d.group}" if d.group else group,
            width=d.width,
            display_name=d.display_name,
            dependents=tuple(prefix + name for name in d.dependents),
            order=start + place,
        )
        for place, d in enumerate(ordered)
    ]


def shown(config: type[Config]) -> Sequence[KeyDefinition]:
    """Return the keys that are shown to people."""
    return [key for key in config.definitions() if not key.internal]


def _takes_converter_type(plugin: Plugin) -> bool:
    return plugin.kind is PluginKind.CONVERTER and all(key.name != "converter.type" for key in shown(plugin.config))


def _definition(key: KeyDefinition, *, group: str | None, order: int) -> Definition:
    return Definition(
        name=key.name,
        type=key.type.value,
        required=key.required,
        default_value=key.default,
        importance=key.importance,
        documentation=key.doc,
        group=group,
        width=key.width if group else "NONE",
        display_name=key.display_name,
        dependents=key.dependents,
        order=order,
    )


def _embedding_order(definition: Definition) -> tuple[str, int, bool, int, str]:
    importance = _IMPORTANCES.index(definition.importance)
    return (definition.group or "", definition.order, not definition.required, importance, definition.name)
