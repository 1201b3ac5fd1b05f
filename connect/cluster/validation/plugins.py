"""Validates the plug-ins that a connector's configuration names: transforms, predicates, converters. Pure.

Sources: ConnectorConfig.EnrichablePlugin and AbstractHerder of Kafka 4.1. A validator's message names the key without
its prefix, a parser's and a missing key's with it, as ConfigDef.embed makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from connect.api.allowed import ConfigType, KeyValue
from connect.api.config import Config, former_names
from connect.api.plugin import Plugin, PluginKind
from connect.cluster.model.validation_infos import Definition, Info, Value
from connect.cluster.validation.definitions import embedded_definitions, plugin_definitions
from connect.cluster.validation.rules import comma_separated
from connect.cluster.validation.versions import parse_versions
from connect.lib.secrets import HIDDEN
from connect.plugins.catalog import Catalog
from connect.plugins.java_parts import not_found

_PARSER_MESSAGES = ("Not a number of type ", "Expected value to be either true or false")
_INTERFACES = {PluginKind.CONVERTER: "Converter", PluginKind.HEADER_CONVERTER: "HeaderConverter"}


@dataclass(frozen=True, slots=True)
class EmbeddedKind:
    """Describes a kind of plug-in that a connector lists by alias."""

    key: str
    group: str
    interface: str
    kind: PluginKind


TRANSFORMS = EmbeddedKind("transforms", "Transforms", "Transformation", PluginKind.TRANSFORMATION)
PREDICATES = EmbeddedKind("predicates", "Predicates", "Predicate", PluginKind.PREDICATE)
CONVERTERS = {
    "key": PluginKind.CONVERTER,
    "value": PluginKind.CONVERTER,
    "header": PluginKind.HEADER_CONVERTER,
}


def infos_of(
    definitions: Sequence[Definition], given: Mapping[str, str], errors: Mapping[str, Sequence[str]]
) -> list[Info]:
    """Return each key with its value as ConfigDef writes it, and its errors; then undeclared keys with errors."""
    infos = [
        Info(d, Value(d.name, _shown(d, given.get(d.name)), errors=tuple(errors.get(d.name, ())))) for d in definitions
    ]
    known = {d.name for d in definitions}
    return infos + [
        Info(None, Value(key, None, errors=tuple(found))) for key, found in errors.items() if key not in known
    ]


def key_errors(config: type[Config], properties: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the errors that a declaration finds in the values of its own keys."""
    return {v.name: v.errors for v in config.validate_keys(properties) if v.errors}


def shown_in_forms(config: type[Config], properties: Mapping[str, str], infos: Sequence[Info]) -> list[Info]:
    """Return keys with the choices and the visibility that the declaration derives from these values."""
    told = {v.name: v for v in config.validate_keys(properties)}
    return [_in_form(info, told.get(info.value.name)) for info in infos]


def _in_form(info: Info, told: KeyValue | None) -> Info:
    if told is None:
        return info
    value = replace(info.value, recommended_values=told.recommended_values, visible=told.visible)
    return replace(info, value=value)


def version_error(catalog: Catalog, plugin: Plugin, wanted: str | None) -> str | None:
    """Return why no installed version of a plug-in is a wanted one; None if one is."""
    if not wanted:
        return None
    versions = [p.version for p in catalog.versions(plugin.name, plugin.kind)]
    try:
        ranges = parse_versions(wanted)
    except ValueError as error:
        return str(error)
    if any(version in accepted for accepted in ranges for version in versions):
        return None
    shown = ",".join(map(str, ranges))
    return (
        f"Plugin {plugin.name} not found that matches the version range {shown}, "
        f"available versions: [{', '.join(versions)}]"
    )


def embedded(
    catalog: Catalog, kind: EmbeddedKind, given: Mapping[str, str], worker: Mapping[str, str]
) -> Iterator[tuple[str, list[Info]]]:
    """Yield the group and the keys of each alias. `worker` are the settings of the worker's file."""
    for alias in dict.fromkeys(comma_separated(given.get(kind.key))):
        yield f"{kind.group}: {alias}", _alias_infos(catalog, kind, alias, given, worker)


def former_names_of_embedded(catalog: Catalog, kind: EmbeddedKind, given: Mapping[str, str]) -> Mapping[str, str]:
    """Return a map of former names of keys to present names, for all listed plug-ins of a kind."""
    found: dict[str, str] = {}
    for alias in comma_separated(given.get(kind.key)):
        prefix = f"{kind.key}.{alias}."
        name = _trimmed(given.get(f"{prefix}type"))
        plugin = catalog.find(name, kind.kind) if name else None
        if plugin is not None:
            found |= {prefix + old: prefix + now for old, now in former_names(plugin.config).items()}
    return found


def converter_infos(catalog: Catalog, side: str, given: Mapping[str, str], worker: Mapping[str, str]) -> list[Info]:
    """Return the keys of a converter if the connector names its class; else the connector's keys for it are ignored."""
    name = _trimmed(given.get(f"{side}.converter"))
    plugin = catalog.find(name, CONVERTERS[side]) if name else None
    if plugin is None:
        return []
    prefix = f"{side}.converter."
    properties = {k.removeprefix(prefix): v for k, v in given.items() if k.startswith(prefix)}
    properties["converter.type"] = side
    errors = key_errors(plugin.config, plugin.config.with_leave(properties, worker))
    infos = infos_of(plugin_definitions(plugin), properties, errors)
    return [_prefixed(info, prefix) for info in infos]


def class_error(catalog: Catalog, key: str, name: str, kind: PluginKind) -> str | None:
    """Return why a class cannot be used as this kind of plug-in; None if it can."""
    if catalog.find(name, kind) is not None:
        return None
    if kind in _INTERFACES and catalog.find(name) is not None:
        why = f"{name} does not implement the {_INTERFACES[kind]} interface."
        return f"Invalid value {name} for configuration {key}: {why}"
    return not_found(name, key)


def class_names(catalog: Catalog, kind: PluginKind) -> tuple[str, ...]:
    """Return the recommended values of a key that names a class."""
    return tuple(dict.fromkeys(p.name for p in catalog.plugins(kind)))


def _alias_infos(
    catalog: Catalog, kind: EmbeddedKind, alias: str, given: Mapping[str, str], worker: Mapping[str, str]
) -> list[Info]:
    prefix, group = f"{kind.key}.{alias}.", f"{kind.group}: {alias}"
    type_key, version_key = prefix + "type", prefix + "plugin.version"
    name = _trimmed(given.get(type_key))
    plugin = catalog.find(name, kind.kind) if name else None
    errors: dict[str, Sequence[str]] = {}
    if name is None:
        errors[type_key] = (f'Missing required configuration "{type_key}" which has no default value.',)
    elif plugin is None:
        errors[type_key] = (not_found(name, type_key),)
    definitions = _head_definitions(kind, alias, group, plugin)
    if plugin is not None:
        mismatch = version_error(catalog, plugin, given.get(version_key))
        if mismatch:
            errors[type_key] = errors[version_key] = (mismatch,)
        own = plugin_definitions(plugin) + (_condition_definitions() if kind is TRANSFORMS else [])
        definitions += embedded_definitions(own, prefix=prefix, group=group, start=2)
        errors.update(_embedded_errors(plugin, prefix, given, worker))
    infos = infos_of(definitions, given, errors)
    recommended = class_names(catalog, kind.kind)
    shown = replace(infos[0].value, value=plugin.name if plugin else None, recommended_values=recommended)
    return [replace(infos[0], value=shown), *infos[1:]]


def _embedded_errors(
    plugin: Plugin, prefix: str, given: Mapping[str, str], worker: Mapping[str, str]
) -> dict[str, Sequence[str]]:
    properties = {k.removeprefix(prefix): v for k, v in given.items() if k.startswith(prefix)}
    found: dict[str, Sequence[str]] = {
        prefix + key: [_embedded_message(message, key, prefix) for message in messages]
        for key, messages in key_errors(plugin.config, plugin.config.with_leave(properties, worker)).items()
    }
    negate = properties.get("negate", "false").strip().lower()
    if plugin.kind is PluginKind.TRANSFORMATION and negate not in {"true", "false"}:
        key = prefix + "negate"
        text = f"Invalid value {negate} for configuration {key}: Expected value to be either true or false"
        found[key] = (text,)
    return found


def _embedded_message(message: str, key: str, prefix: str) -> str:
    missing = f'Missing required configuration "{key}"'
    if message.startswith(missing):
        return message.replace(missing, f'Missing required configuration "{prefix}{key}"', 1)
    if any(text in message for text in _PARSER_MESSAGES):
        return message.replace(f"for configuration {key}:", f"for configuration {prefix}{key}:", 1)
    return message


def _head_definitions(kind: EmbeddedKind, alias: str, group: str, plugin: Plugin | None) -> list[Definition]:
    prefix = f"{kind.key}.{alias}."
    return [
        _definition(
            prefix + "type",
            ConfigType.CLASS,
            doc=f"Class of the {kind.interface.lower()} '{alias}'.",
            display_name=f"{kind.interface} type for {alias}",
            group=group,
            order=0,
            width="LONG",
            importance="HIGH",
            required=True,
        ),
        _definition(
            prefix + "plugin.version",
            ConfigType.STRING,
            doc=f"Version of the {kind.interface.lower()} '{alias}'; default: the newest.",
            display_name=f"{kind.interface} version for {alias}",
            group=group,
            order=1,
            width="LONG",
            importance="HIGH",
            default=plugin.version if plugin else None,
        ),
    ]


def _condition_definitions() -> list[Definition]:
    return [
        _definition("predicate", ConfigType.STRING, doc="Alias of the predicate that selects the rows."),
        _definition("negate", ConfigType.BOOLEAN, doc="Take the rows that are not selected.", default="false"),
    ]


def _definition(
    name: str,
    kind: ConfigType,
    *,
    doc: str,
    display_name: str = "",
    group: str | None = None,
    order: int = -1,
    width: str = "NONE",
    importance: str = "MEDIUM",
    default: str | None = None,
    required: bool = False,
) -> Definition:
    return Definition(
        name, kind.value, required, default, importance, doc, group, width, display_name or name, (), order
    )


def _prefixed(info: Info, prefix: str) -> Info:
    definition = info.definition and replace(
        info.definition,
        name=prefix + info.definition.name,
        dependents=tuple(prefix + name for name in info.definition.dependents),
    )
    return Info(definition, replace(info.value, name=prefix + info.value.name))


def _trimmed(text: str | None) -> str | None:
    return None if text is None else text.strip()


def _shown(definition: Definition, given: str | None) -> str | None:
    """Return a value's text after ConfigDef has read it: trimmed, lists joined anew, secrets hidden."""
    if given is None:
        return definition.default_value
    match definition.type:
        case ConfigType.PASSWORD:
            return HIDDEN
        case ConfigType.LIST:
            return ",".join(comma_separated(given))
        case ConfigType.BOOLEAN:
            return given.strip().lower()
        case _:
            return given.strip()
