"""Which values of a configuration no answer may show, and how `[hidden]` finds its way back. Pure.

Kafka Connect shows inline passwords to whoever reads a configuration. Here they are masked; a client that reads a
configuration, changes a key and writes it back sends the mask, which then stands for the stored value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from connect.api.config import HIDDEN, Config, ConfigType
from connect.api.errors import ConfigProblem
from connect.api.plugin import PluginKind
from connect.cluster.validation_clients import PASSWORDS
from connect.cluster.validation_rules import comma_separated
from connect.plugins import CONNECTORS, Catalog
from connect.runtime.connector_config import SinkConnectorConfig, SourceConnectorConfig

_SUSPECT: Final = re.compile(
    r"passw|passphrase|secret|token|credential|user\.info|jaas\.config|(private|api|access|secret).?key", re.IGNORECASE
)
_OVERRIDES: Final = re.compile(r"(?:producer|consumer|admin)\.override\.")
_CONVERTERS: Final = {
    "key": PluginKind.CONVERTER, "value": PluginKind.CONVERTER, "header": PluginKind.HEADER_CONVERTER,
}  # fmt: skip


@dataclass(frozen=True)
class Secrets:
    """Masks by declaration (type PASSWORD) and, for keys that nobody declares, by name.

    A value that only refers to a config provider (`${file:/path:key}`) is no secret.
    """

    catalog: Catalog
    providers: Collection[str]
    masked: bool = True

    def mask(self, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration as an answer may show it."""
        hidden = self._secret_keys(config) if self.masked else set()
        return {key: HIDDEN if key in hidden else value for key, value in config.items()}

    def restore(
        self, config: Mapping[str, str | None], stored: Mapping[str, str] | None
    ) -> tuple[dict[str, str | None], tuple[ConfigProblem, ...]]:
        """The configuration with masks replaced by stored values, and the keys for which nothing is stored."""
        if not self.masked:
            return dict(config), ()
        given = {key: value for key, value in config.items() if value is not None}
        sent = {key for key in self._secret_keys(given) if given[key] == HIDDEN}
        known = stored or {}
        restored = {key: known.get(key, value) if key in sent else value for key, value in config.items()}
        return restored, tuple(_nothing_stored(key) for key in config if key in sent and key not in known)

    def _secret_keys(self, config: Mapping[str, str]) -> set[str]:
        declared: dict[str, ConfigType] = {}
        for types in self._declared(config):
            declared |= types
        return {
            key
            for key, value in config.items()
            if value and _is_secret(key, declared.get(key)) and not self._only_refers(value)
        }

    def _only_refers(self, value: str) -> bool:
        names = "|".join(re.escape(name) for name in self.providers)
        return bool(names) and re.fullmatch(rf"\s*(?:\$\{{(?:{names}):[^}}]*\}}\s*)+", value) is not None

    def _declared(self, config: Mapping[str, str]) -> Iterator[dict[str, ConfigType]]:
        yield from (_types(SourceConnectorConfig), _types(SinkConnectorConfig))
        yield from self._types_of(config.get("connector.class"), CONNECTORS)
        for key, kind in (("transforms", PluginKind.TRANSFORMATION), ("predicates", PluginKind.PREDICATE)):
            for alias in comma_separated(config.get(key)):
                prefix = f"{key}.{alias}."
                yield from self._types_of(config.get(prefix + "type"), (kind,), prefix)
        for side, kind in _CONVERTERS.items():
            yield from self._types_of(config.get(f"{side}.converter"), (kind,), f"{side}.converter.")

    def _types_of(
        self, name: str | None, kinds: Collection[PluginKind], prefix: str = ""
    ) -> Iterator[dict[str, ConfigType]]:
        plugin = self.catalog.find(name.strip(), *kinds) if name else None
        if plugin is not None:
            yield _types(plugin.config, prefix)


@lru_cache(maxsize=4096)
def _types(config: type[Config], prefix: str = "") -> dict[str, ConfigType]:
    """Cached: every answer with a configuration asks."""
    return {prefix + definition.name: definition.type for definition in config.definitions()}


def _is_secret(key: str, declared: ConfigType | None) -> bool:
    if declared is not None:
        return declared is ConfigType.PASSWORD
    return _SUSPECT.search(key) is not None or _OVERRIDES.sub("", key, count=1) in PASSWORDS


def _nothing_stored(key: str) -> ConfigProblem:
    return ConfigProblem(
        key,
        f"Invalid value {HIDDEN} for configuration {key}: it stands for a stored value, but none is stored. "
        "Give the value, or a config provider's placeholder.",
    )
