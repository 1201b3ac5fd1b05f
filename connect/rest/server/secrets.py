"""Masks secrets in answers, and replaces masks in requests by the stored secrets. Pure.

Kafka Connect shows inline passwords to everybody who reads a configuration. Here they are shown as `[hidden]`. A client
that reads a configuration, changes a key and writes it back sends this mask, which then stands for the stored value. In
a URL only the secret parts are masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect.api.errors import ConfigProblem
from connect.cluster.model.validation_infos import ConfigInfos, Info
from connect.lib.placeholders import placeholder_spans
from connect.lib.secrets import HIDDEN, KnownSecrets, is_masked, masked, masked_setting, restored
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_secrets import secret_keys, secret_texts


@dataclass(frozen=True)
class Secrets:
    """Masks the values that `connect.runtime.settings.config_secrets` finds to be secret.

    A value that only refers to a config provider (`${file:/path:key}`) is no secret. If `masked` is False, values are
    shown as stored, as in Kafka Connect, but secrets in errors are masked all the same.
    """

    catalog: Catalog
    providers: Collection[str]
    masked: bool = True

    def mask(self, config: Mapping[str, str]) -> dict[str, str]:
        """Return the configuration as an answer may show it."""
        if not self.masked:
            return dict(config)
        hidden = self._secret_keys(config)
        return {key: HIDDEN if key in hidden else self._shown(key, value) for key, value in config.items()}

    def mask_infos(self, infos: ConfigInfos, config: Mapping[str, str | None]) -> ConfigInfos:
        """Return the answer of a validation without the configuration's secrets, in values and in errors."""
        given = {key: value for key, value in config.items() if value is not None}
        hidden, known = self._secret_keys(given), self._known(given)
        configs = tuple(self._without(info, hidden, known) for info in infos.configs)
        notes, groups = (tuple(masked(known.hide(text)) for text in of) for of in (infos.notes, infos.groups))
        return replace(infos, configs=configs, notes=notes, groups=groups)

    def hide(self, text: str, config: Mapping[str, str | None]) -> str:
        """Return a message about a configuration, without its secrets."""
        return masked(self._known({key: value for key, value in config.items() if value is not None}).hide(text))

    def restore(
        self, config: Mapping[str, str | None], stored: Mapping[str, str] | None
    ) -> tuple[dict[str, str | None], tuple[ConfigProblem, ...]]:
        """Return the configuration with masks replaced by stored values, and the keys for which nothing is stored."""
        if not self.masked:
            return dict(config), ()
        given = {key: value for key, value in config.items() if value is not None}
        known = stored or {}
        # A value that is secret because of its text is not recognized as a secret any more when it is a mask.
        whole = {key for key in self._secret_keys(given) | self._secret_keys(known) if given.get(key) == HIDDEN}
        found = {
            key: known.get(key, value) if key in whole else value and restored(value, known.get(key, ""))
            for key, value in config.items()
        }
        problems = [
            _nothing_stored(key)
            for key, value in found.items()
            if value is not None and ((key != "name" and is_masked(value)) or (key in whole and key not in known))
        ]
        return found, tuple(problems)

    def _without(self, info: Info, hidden: Collection[str], known: KnownSecrets) -> Info:
        value = info.value.value
        if self.masked and value:
            value = HIDDEN if info.value.name in hidden else self._shown(info.value.name, value)
        errors = tuple(masked(known.hide(error)) for error in info.value.errors)
        # An alias is a part of the names of keys.
        name = known.hide(info.value.name)
        definition = replace(info.definition, name=known.hide(info.definition.name)) if info.definition else None
        return replace(info, definition=definition, value=replace(info.value, name=name, value=value, errors=errors))

    def _shown(self, key: str, value: str) -> str:
        """Mask the secrets in a value. A connector's name is shown whatever it looks like, as it is in every path."""
        return value if key == "name" else masked_setting(value)

    def _secret_keys(self, config: Mapping[str, str]) -> set[str]:
        return {key for key in secret_keys(self.catalog, config) if not self._only_refers(config[key])}

    def _known(self, config: Mapping[str, str]) -> KnownSecrets:
        return KnownSecrets(text for text in secret_texts(self.catalog, config) if not self._only_refers(text))

    def _only_refers(self, value: str) -> bool:
        """Return True if a value is placeholders of known providers and nothing else."""
        at, found = 0, False
        for start, end in placeholder_spans(value):
            if value[at:start].strip() or value[start + 2 : end].partition(":")[0] not in self.providers:
                return False
            at, found = end, True
        return found and not value[at:].strip()


def changes(stored: Mapping[str, str], wanted: Mapping[str, str], secrets: Secrets) -> dict[str, Any]:
    """Return `{"added": {key: value}, "changed": {key: {"from", "to"}}, "removed": {key: value}}`, by key."""
    return changes_between(stored, wanted, secrets.mask(stored), secrets.mask(wanted))


def changes_between(
    stored: Mapping[str, str], wanted: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]
) -> dict[str, Any]:
    """Return the same changes of two configurations; `before` and `after` are their masked forms."""
    return {
        "added": {key: after[key] for key in sorted(wanted.keys() - stored.keys())},
        "changed": {
            key: {"from": before[key], "to": after[key]}
            for key in sorted(wanted.keys() & stored.keys())
            if wanted[key] != stored[key]
        },
        "removed": {key: before[key] for key in sorted(stored.keys() - wanted.keys())},
    }


def _nothing_stored(key: str) -> ConfigProblem:
    return ConfigProblem(
        key,
        f"Invalid value {HIDDEN} for configuration {key}: it stands for a stored value, but none is stored. "
        "Give the value, or a config provider's placeholder.",
    )
