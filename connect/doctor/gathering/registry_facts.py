"""Asks the schema registries that configurations name whether they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import TypeAdapter

from connect.api.errors import ConfigError, ConnectError
from connect.cluster.validation.plugins import CONVERTERS
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.transport import Transport
from connect.doctor.model.facts import RegistryFacts
from connect.runtime.settings.config_providers import placeholders

URL: Final = "schema.registry.url"
_TIMES: Final = {"max.retries": "0", "http.connect.timeout.ms": "3000", "http.read.timeout.ms": "3000"}
_KINDS: Final = TypeAdapter(list[str])


def registry_settings(config: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each registry that `config` names, as the key that does and its settings.

    Registries whose address comes from a config provider are left out.
    """
    for side in CONVERTERS:
        prefix = f"{side}.converter."
        own = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
        if URL in own and not any(True for value in own.values() for _ in placeholders(value)):
            yield f"{prefix}{URL}", own


def registry_facts(
    owner: str, key: str, settings: Mapping[str, str], worker: Mapping[str, str]
) -> RegistryFacts | None:
    """Return the answer of a registry; None if its settings are broken, which validation reports."""
    try:
        transport = Transport(RegistryConfig.parse(RegistryConfig.with_leave({**settings, **_TIMES}, worker)))
    except ConfigError:
        return None
    try:
        transport.call("GET", "/schemas/types", _KINDS)
    except ConnectError as error:
        return RegistryFacts(owner, key, error.message)
    finally:
        transport.close()
    return RegistryFacts(owner, key, None)
