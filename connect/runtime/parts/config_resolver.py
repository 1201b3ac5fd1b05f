"""Resolves the placeholders of config providers in connector configurations, and keeps their secrets out of sight."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import ConfigProviders, config_providers
from connect.runtime.settings.config_secrets import secret_texts
from connect.runtime.settings.worker_config import WorkerConfig
from connect.telemetry.secret_texts import SECRET_TEXTS


class ConfigResolver:
    """Resolves configurations by the worker's config providers, which are built when they are first needed."""

    def __init__(self, worker: WorkerConfig, catalog: Catalog) -> None:
        self._worker = worker
        self._catalog = catalog

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration with the placeholders of config providers replaced. The result may hold secrets."""
        return self.providers.resolve(config)

    def resolve_secretly(self, config: Mapping[str, str]) -> dict[str, str]:
        """Resolve a whole connector configuration, and hide its secrets in logs, traces and letters from then on."""
        # What cannot be resolved has secrets, too.
        SECRET_TEXTS.add(secret_texts(self._catalog, config))
        resolved = self.resolve(config)
        SECRET_TEXTS.add(secret_texts(self._catalog, resolved))
        return resolved

    @cached_property
    def providers(self) -> ConfigProviders:
        """Return the config providers of the worker's settings. ConfigError: one of them is set wrongly."""
        return config_providers(self._worker.originals, self._catalog)
