"""Names the addresses that a connector asks, for texts that say what something waits for. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from connect.api.allowed import ConfigType
from connect.api.plugin import PluginKind
from connect.api.reach import Reach
from connect.lib.secrets import masked_setting
from connect.plugins.catalog import CONNECTORS, Catalog

SHOWN_CHARS: Final = 200
"""An address is cut after so many characters."""
_NAMES_A_SERVER: Final = frozenset({Reach.URL, Reach.HOST})
_CONVERTERS: Final = {"key.converter": PluginKind.CONVERTER, "value.converter": PluginKind.CONVERTER}


def asked_addresses(catalog: Catalog, config: Mapping[str, str]) -> str:
    """Return `connection.url=jdbc:postgresql://db:5432/shop`, several of them with commas between; empty: none is set.

    `config` is as it is stored: `${…}` of config providers stand as they are, passwords in a URL are masked.
    """
    return ", ".join(_addresses(catalog, config))


def _addresses(catalog: Catalog, config: Mapping[str, str]) -> Iterator[str]:
    named = [("", catalog.find(config.get("connector.class", "").strip(), *CONNECTORS))]
    named += [(f"{key}.", catalog.find(config.get(key, "").strip(), kind)) for key, kind in _CONVERTERS.items()]
    for prefix, plugin in named:
        found = plugin.found_config if plugin is not None else None
        for definition in found.definitions() if found is not None else ():
            value = config.get(prefix + definition.name, "")
            if value and definition.type is not ConfigType.PASSWORD and _NAMES_A_SERVER & set(definition.reaches):
                yield f"{prefix}{definition.name}={masked_setting(value)[:SHOWN_CHARS]}"
