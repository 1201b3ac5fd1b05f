"""Gathers the files, hosts, classes and SQL that a configuration names, as its keys are declared. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from connect.api.allowed import ConfigType
from connect.api.allowed_paths import EVERYWHERE
from connect.api.config import Config
from connect.api.errors import ConfigError
from connect.api.plugin import PluginKind
from connect.api.reach import BOUNDS, Reach
from connect.cluster.validation.notes import CLIENT_OVERRIDES
from connect.doctor.model.facts import NamedThing
from connect.kafka.client.override_rules import CLIENT_REACHES
from connect.lib.secrets import HIDDEN, masked_setting
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.runtime.settings.connector_config import CommonConnectorConfig, SinkConnectorConfig, SourceConnectorConfig

_CONVERTERS: Final = {
    "key.converter": PluginKind.CONVERTER,
    "value.converter": PluginKind.CONVERTER,
    "header.converter": PluginKind.HEADER_CONVERTER,
}
_LISTED: Final = {"transforms": PluginKind.TRANSFORMATION, "predicates": PluginKind.PREDICATE}
_TAKEN_APART: Final = frozenset({Reach.FILE, Reach.URL, Reach.HOST})
"""A declaration tells these exactly through `Config.named_files` and `Config.named_hosts`, not just by their keys."""


def named_things(catalog: Catalog, config: Mapping[str, str]) -> Sequence[NamedThing]:
    """Return the files, classes, hosts, SQL and parts of commands that the given keys name.

    `config` is as stored, with secrets masked and with the placeholders of config providers.
    """
    found = [
        thing for prefix, declaration in declarations(catalog, config) for thing in _of(declaration, prefix, config)
    ]
    for prefix in CLIENT_OVERRIDES:
        for name, reaches in CLIENT_REACHES.items():
            if value := config.get(prefix + name):
                found += [NamedThing(reach, prefix + name, masked_setting(value), BOUNDS[reach]) for reach in reaches]
    return [*dict.fromkeys(found)]


def declarations(catalog: Catalog, config: Mapping[str, str]) -> Iterator[tuple[str, type[Config]]]:
    """Yield the prefix of its keys and the declaration of each plug-in that reads a part of the configuration."""
    connector = catalog.find(config.get("connector.class", "").strip(), *CONNECTORS)
    is_sink = connector is not None and connector.kind is PluginKind.SINK
    common: type[CommonConnectorConfig] = SinkConnectorConfig if is_sink else SourceConnectorConfig
    yield "", common
    named = [("", connector)]
    named += [(f"{key}.", catalog.find(config.get(key, "").strip(), kind)) for key, kind in _CONVERTERS.items()]
    for key, kind in _LISTED.items():
        aliases = [alias.strip() for alias in config.get(key, "").split(",") if alias.strip()]
        named += [
            (f"{key}.{alias}.", catalog.find(config.get(f"{key}.{alias}.type", "").strip(), kind)) for alias in aliases
        ]
    found = ((prefix, plugin.found_config) for prefix, plugin in named if plugin is not None)
    yield from ((prefix, config) for prefix, config in found if config is not None)


def _of(declaration: type[Config], prefix: str, config: Mapping[str, str]) -> Iterator[NamedThing]:
    own = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    definitions = {definition.name: definition for definition in declaration.definitions()}
    named = [
        (reach, name, own[name])
        for name, definition in definitions.items()
        for reach in definition.reaches
        if own.get(name) and not definition.from_worker
    ]
    exact = _exactly_named(declaration, own)
    if exact is not None:
        named = [*exact, *(one for one in named if one[0] not in _TAKEN_APART)]
    for reach, name, value in named:
        definition = definitions.get(name)
        is_secret = definition is not None and definition.type is ConfigType.PASSWORD
        bounds = BOUNDS[reach] if definition is None or not definition.bounds else definition.bounds
        yield NamedThing(reach, prefix + name, HIDDEN if is_secret else masked_setting(value), bounds)


def _exactly_named(declaration: type[Config], own: Mapping[str, str]) -> list[tuple[Reach, str, str]] | None:
    """Return the files and hosts that the declaration finds in the values; None if some values are broken."""
    try:
        parsed = declaration.parse(declaration.with_leave(own, EVERYWHERE))
    except ConfigError:
        return None
    files = [(Reach.FILE, name, path) for name, path in parsed.named_files() if name in own]
    return [*files, *((Reach.HOST, name, host) for name, host in parsed.named_hosts() if name in own)]
