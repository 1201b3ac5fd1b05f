"""Validates every key of a connector configuration: of the framework, the connector and its plug-ins. No I/O.

It follows AbstractHerder.validateConnectorConfig of Kafka 4.1: the same keys in the same order with the same messages,
but all of them at once. `Trials.check` finds the errors that only other systems can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConfigError, ConnectError
from connect.api.plugin import Plugin, PluginKind
from connect.cluster.model.request_errors import BadRequestError, FailedRequestError
from connect.cluster.model.validation_infos import ConfigInfos, Info
from connect.cluster.validation.client_settings import OverrideValueError, client_notes, client_overrides
from connect.cluster.validation.converter_notes import converter_notes
from connect.cluster.validation.definitions import framework_config, framework_definitions, plugin_definitions
from connect.cluster.validation.notes import missing_providers, notes
from connect.cluster.validation.plugins import (
    CONVERTERS,
    PREDICATES,
    TRANSFORMS,
    class_error,
    class_names,
    converter_infos,
    embedded,
    former_names_of_embedded,
    infos_of,
    key_errors,
    shown_in_forms,
    version_error,
)
from connect.cluster.validation.rules import broken_rules, comma_separated, takes_a_match
from connect.cluster.validation.size import is_large
from connect.cluster.validation.topic_notes import topic_notes
from connect.lib.secrets import HIDDEN, KnownSecrets
from connect.plugins.catalog import Catalog
from connect.plugins.write_only import unread
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.settings.connector_config import (
    COMMON,
    EXACTLY_ONCE,
    OFFSETS_TOPIC,
    TOPIC_CREATION,
)
from connect.runtime.settings.connector_config import PREDICATES as PREDICATES_GROUP
from connect.runtime.settings.connector_config import TRANSFORMS as TRANSFORMS_GROUP
from connect.runtime.settings.error_keys import ERRORS
from connect.runtime.settings.worker_config import WorkerConfig

Resolve = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Replaces placeholders of config providers, and leaves those that it cannot replace. For task hosts; may block."""

NULL_VALUE: Final = "Null value can not be supplied as the configuration value."
PROVIDED_VALUE: Final = (
    "Invalid value for configuration '{}': the value resolved from the config provider reference failed validation"
)
_SINK_GROUPS = (COMMON, TRANSFORMS_GROUP, PREDICATES_GROUP, ERRORS)
_SOURCE_GROUPS = (*_SINK_GROUPS, TOPIC_CREATION, EXACTLY_ONCE, OFFSETS_TOPIC)


@dataclass(frozen=True)
class Validator:
    """Validates against the installed plug-ins and the worker's settings.

    Without `resolve`, in a worker, it accepts all placeholders and matches no pattern of a configuration, as a match
    that does not end would stop all threads of the process.
    """

    catalog: Catalog
    worker: WorkerConfig
    resolve: Resolve | None = None

    def plugin(self, config: Mapping[str, str | None]) -> Plugin:
        """Return the connector's plug-in. BadRequestError: its class is missing or unknown; the text has no secret."""
        name = config.get("connector.class")
        if name is None:
            shown = ", ".join(f"{k}={v if k == 'name' else HIDDEN}" for k, v in config.items())
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        try:
            return self.catalog.connector(name.strip())
        except ConnectError as error:
            raise BadRequestError(str(error)) from error

    def unjudged(self, config: Mapping[str, str | None]) -> ConfigInfos:
        """Return infos of a configuration without judging any key but its class. BadRequestError as in `plugin`."""
        self.plugin(config)
        return ConfigInfos(config["connector.class"] or "", (), ())

    def needs_host(self, config: Mapping[str, str | None]) -> bool:
        """Tell if a task host has to validate it: it is large, needs a pattern match, or names a config provider."""
        if is_large(config) or takes_a_match(config):
            return True
        return next(iter(self._unresolved({key: value for key, value in config.items() if value})), None) is not None

    def validate(self, config: Mapping[str, str | None]) -> ConfigInfos:
        """Return every key with its value and its errors; null values are None.

        BadRequestError: the class is missing or unknown. FailedRequestError: a client setting cannot be read.
        """
        plugin = self.plugin(config)
        raw = {key: value for key, value in config.items() if value is not None}
        given, unreadable = self._resolved(raw)
        given, unnamed = _with_named_aliases(raw, given)
        unreadable = {**unreadable, **unnamed}
        framework = self._framework(plugin, given)
        transforms = dict(embedded(self.catalog, TRANSFORMS, given, self.worker.originals))
        predicates = dict(embedded(self.catalog, PREDICATES, given, self.worker.originals))
        definitions = plugin_definitions(plugin)
        nested = [info for infos in (*transforms.values(), *predicates.values()) for info in infos]
        errors = key_errors(plugin.config, plugin.config.with_leave(given, self.worker.originals))
        own = shown_in_forms(plugin.config, given, infos_of(definitions, given, errors))
        infos = _merged([*framework, *nested], definitions_infos=own)
        infos += self._clients(plugin, given)
        infos += [
            info for side in CONVERTERS for info in converter_infos(self.catalog, side, given, self.worker.originals)
        ]
        groups = _SOURCE_GROUPS if plugin.kind is PluginKind.SOURCE else _SINK_GROUPS
        own_groups = dict.fromkeys(d.group for d in definitions if d.group)
        groups = tuple(dict.fromkeys((*groups, *transforms, *predicates, *own_groups)))
        told = (
            *notes(plugin, given, (info.value.name for info in infos), self._former_of_embedded(given)),
            *converter_notes(self.catalog, given),
            *missing_providers(raw, self.worker.config_providers),
            *client_notes(plugin, given, self.worker),
            *topic_notes(plugin.kind, given, self.worker),
        )
        found = ConfigInfos(config["connector.class"] or "", groups, tuple(infos), told)
        return with_nulls(self._with_placeholders(found, raw, given).with_errors(unreadable), config)

    def _former_of_embedded(self, given: Mapping[str, str]) -> Mapping[str, str]:
        return {
            old: now
            for kind in (TRANSFORMS, PREDICATES)
            for old, now in former_names_of_embedded(self.catalog, kind, given).items()
        }

    def _resolved(self, raw: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
        """Return the configuration with the values of config providers, and the errors of those that cannot be read."""
        if self.resolve is None:
            return raw, {}
        try:
            return self.resolve(raw), {}
        except ConfigError as error:
            return raw, {problem.key: (problem.message,) for problem in error.problems}

    def _framework(self, plugin: Plugin, given: Mapping[str, str]) -> list[Info]:
        errors: dict[str, list[str]] = {k: list(v) for k, v in key_errors(framework_config(plugin.kind), given).items()}
        if any("Not a number" in message for message in errors.get("tasks.max", ())):
            errors["tasks.max"].append("Invalid value null for configuration tasks.max: Value must be non-null")
        for problem in broken_rules(plugin, given, self.worker, in_host=self.resolve is not None):
            errors.setdefault(problem.key, []).append(problem.message)
        mismatch = version_error(self.catalog, plugin, given.get("connector.plugin.version"))
        if mismatch:
            for key in ("connector.class", "connector.plugin.version"):
                errors.setdefault(key, []).append(mismatch)
        for side in CONVERTERS:
            for key, message in self._converter_errors(plugin, side, given):
                errors.setdefault(key, []).append(message)
        unique = {key: list(dict.fromkeys(messages)) for key, messages in errors.items()}
        defaults = self._defaults(plugin, given)
        infos = infos_of(framework_definitions(plugin.kind), given, unique)
        return [self._with_default(info, given, defaults) for info in infos]

    def _converter_errors(self, connector: Plugin, side: str, given: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        key, kind = f"{side}.converter", CONVERTERS[side]
        name = given.get(key)
        if connector.kind is PluginKind.SINK:
            why = unread(self.catalog, key, (name or self._workers_converters()[side]).strip(), kind)
            if why:
                yield key, why
        if name is None:
            return
        wrong = class_error(self.catalog, key, name.strip(), kind)
        if wrong:
            yield key, wrong
            return
        plugin = self.catalog.find(name.strip(), kind)
        mismatch = plugin and version_error(self.catalog, plugin, given.get(f"{key}.plugin.version"))
        if mismatch:
            yield key, mismatch
            yield f"{key}.plugin.version", mismatch

    def _defaults(self, plugin: Plugin, given: Mapping[str, str]) -> dict[str, str]:
        """Return the worker's values for keys that the connector leaves out, and full class names for short ones."""
        defaults = {"connector.plugin.version": plugin.version}
        workers = self._workers_converters()
        for side, kind in CONVERTERS.items():
            name = given.get(f"{side}.converter", workers[side]).strip()
            converter = self.catalog.find(name, kind)
            defaults[f"{side}.converter"] = converter.name if converter else name
            if converter:
                defaults[f"{side}.converter.plugin.version"] = converter.version
        return defaults

    def _workers_converters(self) -> Mapping[str, str]:
        return {
            "key": self.worker.key_converter,
            "value": self.worker.value_converter,
            "header": self.worker.header_converter,
        }

    def _with_default(self, info: Info, given: Mapping[str, str], defaults: Mapping[str, str]) -> Info:
        value = info.value
        side = value.name.removesuffix(".converter")
        if value.name in defaults and (value.name not in given or side in CONVERTERS):
            value = replace(value, value=defaults[value.name])
        if side in CONVERTERS and side != value.name:
            value = replace(value, recommended_values=class_names(self.catalog, CONVERTERS[side]))
        return replace(info, value=value)

    def _clients(self, plugin: Plugin, given: Mapping[str, str]) -> list[Info]:
        try:
            return list(client_overrides(plugin.kind, given, self.worker))
        except OverrideValueError as error:
            raise FailedRequestError(str(error)) from error

    def _with_placeholders(self, found: ConfigInfos, raw: Mapping[str, str], given: Mapping[str, str]) -> ConfigInfos:
        """Return the infos with placeholders in place of values from config providers, in values and in errors."""
        resolved = {key for key in raw if given.get(key) != raw[key]}
        trusted = frozenset(self._unresolved(raw)) if self.resolve is None else frozenset()
        if not resolved and not trusted:
            return found
        secrets = KnownSecrets()
        for key in resolved:
            secrets.add(given.get(key, ""), as_word=True)
        configs = []
        for info in found.configs:
            key, value = info.value.name, info.value
            if key in resolved:
                errors = (PROVIDED_VALUE.format(key),) if value.errors else ()
                value = replace(value, value=raw[key], recommended_values=(), errors=errors)
            elif key in trusted:
                value = replace(value, value=raw[key], errors=())
            else:
                value = replace(value, errors=tuple(map(secrets.hide, value.errors)))
            configs.append(replace(info, value=value))
        return replace(found, configs=tuple(configs), notes=tuple(map(secrets.hide, found.notes)))

    def _unresolved(self, raw: Mapping[str, str]) -> Iterable[str]:
        known = set(self.worker.config_providers)
        return [key for key, value in raw.items() if any(found.provider in known for found in placeholders(value))]


def _with_named_aliases(
    raw: Mapping[str, str], given: Mapping[str, str]
) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
    """Return the configuration without aliases that a config provider gave, and the errors of the keys that had them.

    An alias becomes part of the names of keys, and these would show the provider's value.
    """
    found, errors = dict(given), {}
    for key in ("transforms", "predicates", "topic.creation.groups"):
        if raw.get(key) == given.get(key):
            continue
        prefix = f"{key.removesuffix('groups')}" if key.endswith(".groups") else f"{key}."
        aliases = comma_separated(given.get(key))
        named = [alias for alias in aliases if any(name.startswith(f"{prefix}{alias}.") for name in raw)]
        if named != aliases:
            found[key], errors[key] = ",".join(named), (PROVIDED_VALUE.format(key),)
    return found, errors


def _merged(infos: list[Info], *, definitions_infos: list[Info]) -> list[Info]:
    """Return the framework's keys, then the connector's. The connector's errors of a framework's key join that key."""
    own = {info.value.name: info for info in definitions_infos}
    known = {info.value.name for info in infos}
    joined = [info.with_errors(own[info.value.name].value.errors) if info.value.name in own else info for info in infos]
    return joined + [info for name, info in own.items() if name not in known]


def with_nulls(found: ConfigInfos, config: Mapping[str, str | None]) -> ConfigInfos:
    """Return the infos with an error for each null of a key that nobody declares, as in Kafka Connect.

    A null of a declared key counts as left out.
    """
    declared = {info.value.name for info in found.configs}
    nulls = [key for key, value in config.items() if value is None and key not in declared]
    return found.with_errors(dict.fromkeys(nulls, (NULL_VALUE,)))
