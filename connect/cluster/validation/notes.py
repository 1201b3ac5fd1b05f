"""Makes notes on a valid configuration: keys without effect, and notes of its plug-in. Pure.

Kafka Connect ignores unknown keys without a word, so that a misspelt key shows only in what the connector does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from connect.api.config import Config, former_names
from connect.api.errors import ConfigError, ConfigProblem
from connect.api.plugin import Plugin
from connect.cluster.model.validation_infos import NO_PROVIDER
from connect.cluster.validation.definitions import framework_config
from connect.cluster.validation.plugins import CONVERTERS, PREDICATES, TRANSFORMS, EmbeddedKind
from connect.cluster.validation.rules import comma_separated
from connect.lib.nearest import nearest
from connect.runtime.settings.config_providers import placeholders

CLIENT_OVERRIDES: Final = ("producer.override.", "consumer.override.", "admin.override.")
"""Keys of a connector that begin with these are settings of its clients."""
_OF_FRAMEWORK: Final = (*CLIENT_OVERRIDES, "topic.creation.")
"""Keys with these prefixes are not judged here, as clients and topics know their own settings."""
_OF_CONVERTERS: Final = tuple(f"{side}.converter." for side in CONVERTERS)

NO_EFFECT: Final = "no effect"
"""Every note on a key that does nothing has these words."""
FAIL_UNTIL: Final = "tasks fail until"
"""A sink's note on a missing target has these words."""
UNKNOWN_MAX: Final = 50
"""This many unknown keys are named one by one."""


def notes(
    plugin: Plugin, given: Mapping[str, str], shown: Iterable[str], embedded: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield sentences, none of which holds a value of a key.

    `shown` are the names of all keys that validation shows. `embedded` maps former names of keys of transforms and
    predicates to their present names.
    """
    former = {**former_names(plugin.config), **embedded}
    known = {*shown, *_names(framework_config(plugin.kind)), *_names(plugin.config), *former}
    taken = (*_OF_FRAMEWORK, *_OF_CONVERTERS, *plugin.config.families)
    its_own = list(_of_plugin(plugin, given))
    # A plug-in may accept keys that it does not declare, such as old names, and makes notes on them itself.
    told = {note.key for note in its_own}
    unknown = [
        key for key in plugin.config.unknown_keys(given) if key not in known | told and not key.startswith(taken)
    ]
    for old in (name for name in former if name in given):
        counts = f" {former[old]} is given, too, and counts." if former[old] in given else ""
        yield f"{old}: this key is named {former[old]} now; its former name goes on working.{counts}"
    listed = {kind: set(comma_separated(given.get(kind.key))) for kind in (TRANSFORMS, PREDICATES)}
    for key in unknown[:UNKNOWN_MAX]:
        yield _without_effect(key, listed, known)
    if len(unknown) > UNKNOWN_MAX:
        yield f"{len(unknown) - UNKNOWN_MAX} more keys have {NO_EFFECT}: nobody knows them."
    for side in CONVERTERS:
        own = sorted(key for key in given if key.startswith(f"{side}.converter."))
        if own and f"{side}.converter" not in given:
            yield f"{', '.join(own)}: {NO_EFFECT} without {side}.converter; the worker's has its own settings."
    for note in its_own:
        yield f"{note.key}: {note.message}"


def missing_providers(config: Mapping[str, str], providers: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each placeholder of a config provider that the worker lacks.

    As in Kafka Connect, such a value is used as the text that it is.
    """
    there = f"it has {', '.join(sorted(providers))}" if providers else "it has none"
    for key, value in config.items():
        for name in dict.fromkeys(found.provider for found in placeholders(value)):
            if name not in providers:
                yield (
                    f"{key}: the worker has {NO_PROVIDER} {name} ({there}), so the placeholder is used as the text "
                    "that it is. Add the provider to config.providers in the worker's file."
                )


def _without_effect(key: str, listed: Mapping[EmbeddedKind, Collection[str]], known: Iterable[str]) -> str:
    for kind, aliases in listed.items():
        alias = key.removeprefix(f"{kind.key}.").partition(".")[0]
        if key.startswith(f"{kind.key}.") and alias not in aliases:
            return f"{key}: {NO_EFFECT}, as {kind.key} does not list {alias}."
    near = nearest(key, known)
    meant = f" Is {near} meant?" if near else ""
    return f"{key}: nobody knows this key, so it has {NO_EFFECT}.{meant}"


def _of_plugin(plugin: Plugin, given: Mapping[str, str]) -> Iterable[ConfigProblem]:
    try:
        config = plugin.config.parse(given)
    except ConfigError:
        return ()  # validation reports broken keys as errors
    return config.notes()


def _names(config: type[Config]) -> Iterator[str]:
    return (definition.name for definition in config.definitions())
