"""Makes the objects of a task from a configuration: plug-ins, converters, transforms. Names every broken key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from connect.api.allowed_paths import EVERYWHERE
from connect.api.codec import Converter, HeaderConverter
from connect.api.config import ConnectorConfig
from connect.api.connector import Connector
from connect.api.errors import ConfigError
from connect.api.optional.other_clusters import ClustersConnector
from connect.api.plugin import Plugin, PluginKind
from connect.api.transform import Predicate, Transform
from connect.plugins.catalog import Catalog
from connect.plugins.java_parts import not_found
from connect.plugins.write_only import unread
from connect.runtime.records.chain import Link
from connect.runtime.records.pipeline import Converters
from connect.runtime.settings.connector_config import CommonConnectorConfig
from connect.runtime.topics.other_cluster import open_cluster


def connector_plugin(catalog: Catalog, config: Mapping[str, str]) -> Plugin:
    """Return the plug-in that a connector configuration names. ConnectError when there is none of that name."""
    return catalog.connector(config.get("connector.class", ""))


def build_connector(catalog: Catalog, config: Mapping[str, str], worker: Mapping[str, str]) -> Connector:
    """Return the connector of a configuration whose placeholders are resolved; it has not connected to anything yet."""
    plugin = connector_plugin(catalog, config)
    parsed = plugin.config.parse(plugin.config.with_leave(config, worker))
    assert isinstance(parsed, ConnectorConfig)
    connector = cast("Connector", catalog.load(plugin)(parsed))
    if isinstance(connector, ClustersConnector):
        connector.take_clusters(partial(open_cluster, worker, config.get("name", "")))
    return connector


def build_converters(catalog: Catalog, connector: Mapping[str, str], worker: Mapping[str, str]) -> Converters:
    """Return the converters of a task: the connector's where it names one, else the worker's.

    ConfigError: the connector is a sink, and one of them reads nothing. Validation may have seen other converters of
    the worker's.
    """
    key = _converter("key.converter", connector, worker)
    value = _converter("value.converter", connector, worker)
    header = _converter("header.converter", connector, worker)
    key_plugin = _find(catalog, PluginKind.CONVERTER, key.key, key.name)
    value_plugin = _find(catalog, PluginKind.CONVERTER, value.key, value.name)
    header_plugin = _find(catalog, PluginKind.HEADER_CONVERTER, header.key, header.name)
    if catalog.find(connector.get("connector.class", "").strip(), PluginKind.SINK) is not None:
        for plugin, key_name in ((key_plugin, key.key), (value_plugin, value.key), (header_plugin, header.key)):
            why = unread(catalog, key_name, plugin.name, plugin.kind)
            if why:
                raise ConfigError(why, key=key_name)
    return Converters(
        key=cast("Converter", _build(catalog, key_plugin, key.key, key.settings, key.leave, is_key=True)),
        value=cast("Converter", _build(catalog, value_plugin, value.key, value.settings, value.leave, is_key=False)),
        header=cast(
            "HeaderConverter",
            _build(catalog, header_plugin, header.key, header.settings, header.leave, is_key=False),
        ),
        key_name=key_plugin.name,
        value_name=value_plugin.name,
        header_name=header_plugin.name,
    )


def build_chain(catalog: Catalog, config: CommonConnectorConfig, worker: Mapping[str, str]) -> list[Link]:
    """Return the transforms of a connector in order, each with its predicate. The worker says what they may reach."""
    predicates = {}
    for alias in config.predicates:
        settings = config.with_prefix(f"predicates.{alias}.")
        plugin = _find(catalog, PluginKind.PREDICATE, f"predicates.{alias}.type", settings.get("type", ""))
        predicates[alias] = cast("Predicate", _build(catalog, plugin, f"predicates.{alias}", settings, worker))
    links = []
    for alias in config.transforms:
        settings = config.with_prefix(f"transforms.{alias}.")
        plugin = _find(catalog, PluginKind.TRANSFORMATION, f"transforms.{alias}.type", settings.get("type", ""))
        predicate_alias = settings.get("predicate")
        if predicate_alias is not None and predicate_alias not in predicates:
            name = f"transforms.{alias}.predicate"
            raise ConfigError(f"Invalid value {predicate_alias} for configuration {name}: no such predicate.", key=name)
        links.append(
            Link(
                name=plugin.name,
                transform=cast("Transform", _build(catalog, plugin, f"transforms.{alias}", settings, worker)),
                predicate=None if predicate_alias is None else predicates[predicate_alias],
                negate=settings.get("negate", "false").lower() == "true",
            )
        )
    return links


def _find(catalog: Catalog, kind: PluginKind, key: str, name: str) -> Plugin:
    plugin = catalog.find(name, kind)
    if plugin is None:
        raise ConfigError(not_found(name, key), key=key)
    return plugin


@dataclass(frozen=True, slots=True, repr=False)
class _NamedConverter:
    """Describes a converter as a configuration names it by `key`. `settings` may hold secrets."""

    key: str
    name: str
    settings: Mapping[str, str]
    leave: Mapping[str, str]


def _converter(key: str, connector: Mapping[str, str], worker: Mapping[str, str]) -> _NamedConverter:
    """Return the class and its sub-keys, both from the level that names the class (Kafka Connect's rule)."""
    is_connectors = bool(connector.get(key))
    level = connector if is_connectors else worker
    prefix = f"{key}."
    own = {k.removeprefix(prefix): v for k, v in level.items() if k.startswith(prefix)}
    default = "org.apache.kafka.connect.storage.SimpleHeaderConverter" if key == "header.converter" else ""
    # The worker's own file may name any file for the worker's own converter.
    return _NamedConverter(key, level.get(key, default), own, worker if is_connectors else {**worker, **EVERYWHERE})


def _build(
    catalog: Catalog,
    plugin: Plugin,
    prefix: str,
    settings: Mapping[str, str],
    worker: Mapping[str, str],
    *,
    is_key: bool | None = None,
) -> object:
    try:
        config = plugin.config.parse(plugin.config.with_leave(settings, worker))
    except ConfigError as error:
        raise ConfigError([type(p)(f"{prefix}.{p.key}", p.message) for p in error.problems]) from error
    factory = catalog.load(plugin)
    return factory(config) if is_key is None else factory(config, is_key=is_key)
