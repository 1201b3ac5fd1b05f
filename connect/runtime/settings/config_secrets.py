"""Decides which keys of a connector's configuration are secret, and which texts in it. Pure.

A key is secret by its declared type, or by its name where nobody declares it. A text is secret if it is in PEM form.
URLs, lists of `name=value`, JSON and headers may have secret parts, whatever their key is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, unquote_plus

from connect.api.allowed import ConfigType
from connect.api.config import Config
from connect.api.plugin import PluginKind
from connect.kafka.client.settings import is_secret
from connect.lib.secrets import is_private_text, is_suspect, key_lines, secrets_in
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig

_OVERRIDES: Final = re.compile(
    r"(?:producer|consumer|admin)\.override\.|^(?:source|target)\.(?:cluster|producer|consumer|admin)\."
    r"|^(?:producer|consumer|admin)\."
)
"""Begins the keys of Kafka clients: those of a connector, and those of MirrorMaker's two clusters."""
_CONVERTERS: Final = {
    "key": PluginKind.CONVERTER, "value": PluginKind.CONVERTER, "header": PluginKind.HEADER_CONVERTER,
}  # fmt: skip
_LOGIN: Final = re.compile(r"[^\s:]+:(\S+)")
_CODED_CHARS: Final = 10_000
"""Longer texts count as no passwords of URLs and are not decoded: 250 kB of percent signs would take seconds."""
_BEARER: Final = re.compile(r"\s*(?:bearer|basic|token|apikey)\s+(\S+)\s*", re.IGNORECASE)


_BETWEEN_HEADERS: Final = re.compile(r"[|,\n]")
_HEADER: Final = re.compile(r"\s*(?P<name>[A-Za-z][\w-]*):\s*(?P<text>\S(?:.*\S)?)\s*")
_OPEN_HEADERS: Final = frozenset({"accept", "content-type", "user-agent"})
"""The values of these headers are no secrets, and stand in many texts."""


def secret_keys(catalog: Catalog, config: Mapping[str, str]) -> set[str]:
    """Return the keys whose whole value is secret; keys with an empty value are left out."""
    declared: dict[str, ConfigType] = {}
    for types in _declared(catalog, config):
        declared |= types
    return {key for key, value in config.items() if value and _is_secret(key, value, declared.get(key))}


def secret_texts(catalog: Catalog, config: Mapping[str, str]) -> set[str]:
    """Return every secret in a configuration, and the secrets inside of these: of `user:password` the password, too."""
    whole = {config[key] for key in secret_keys(catalog, config)}
    parts = {part for value in config.values() for part in secrets_in(value)}
    inside = {
        match[1]
        for value in whole | parts
        for form in (_LOGIN, _BEARER)
        if (match := form.fullmatch(value)) is not None
    }
    lines = {line for value in whole if is_private_text(value) for line in key_lines(value)}
    headers = {text for value in whole for text in _of_headers(value)}
    found = whole | parts | inside | lines | headers
    coded = {text for text in found if len(text) <= _CODED_CHARS}
    return found | {unquote(text) for text in coded} | {unquote_plus(text) for text in coded}


def _of_headers(secret: str) -> Iterator[str]:
    """Yield the values of a secret list of headers, and the values of the cookies in it."""
    for header in _BETWEEN_HEADERS.split(secret[:_CODED_CHARS]):
        match = _HEADER.fullmatch(header)
        if match is not None and match["name"].lower() not in _OPEN_HEADERS:
            yield match["text"]
            yield from (one.partition("=")[2] for one in match["text"].split("; "))


def _is_secret(key: str, value: str, declared: ConfigType | None) -> bool:
    if declared is ConfigType.PASSWORD or is_private_text(value):
        return True
    if declared is not None:
        return False
    setting = _OVERRIDES.sub("", key, count=1)
    return is_suspect(key) if setting == key else is_secret(setting) or is_suspect(setting)


def _declared(catalog: Catalog, config: Mapping[str, str]) -> Iterator[dict[str, ConfigType]]:
    yield from (_types(SourceConnectorConfig), _types(SinkConnectorConfig))
    yield from _types_of(catalog, config.get("connector.class"), CONNECTORS)
    for key, kind in (("transforms", PluginKind.TRANSFORMATION), ("predicates", PluginKind.PREDICATE)):
        for alias in filter(None, map(str.strip, config.get(key, "").split(","))):
            prefix = f"{key}.{alias}."
            yield from _types_of(catalog, config.get(prefix + "type"), (kind,), prefix)
    for side, kind in _CONVERTERS.items():
        yield from _types_of(catalog, config.get(f"{side}.converter"), (kind,), f"{side}.converter.")


def _types_of(
    catalog: Catalog, name: str | None, kinds: Collection[PluginKind], prefix: str = ""
) -> Iterator[dict[str, ConfigType]]:
    """Yield the types that the plug-in of this name declares. One whose settings cannot be imported declares none, as
    one that is not installed.
    """
    plugin = catalog.find(name.strip(), *kinds) if name else None
    found = plugin.found_config if plugin is not None else None
    if found is not None:
        yield _types(found, prefix)


@lru_cache(maxsize=4096)
def _types(config: type[Config], prefix: str = "") -> dict[str, ConfigType]:
    """Return the type of each key. It is cached, as every answer with a configuration asks for it."""
    return {prefix + name: d.type for d in config.definitions() for name in (d.name, *d.former)}
