"""Hides the secrets of configurations in a result, as errors of drivers, samples and keys may hold them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connect.lib.secrets import HIDDEN, KnownSecrets, masked, masked_setting
from connect.plugins.catalog import Catalog
from connect.poc.sandbox.result import Check, Result, Table
from connect.runtime.settings.config_secrets import secret_keys, secret_texts


class Secrecy:
    """Hides the secrets of some configurations."""

    def __init__(self, catalog: Catalog, *configs: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._known = KnownSecrets(text for config in configs for text in secret_texts(catalog, config))

    def hide(self, text: str) -> str:
        """Return the text with the secrets masked."""
        return masked(self._known.hide(text))

    def of_result(self, result: Result) -> Result:
        """Return the result with the secrets masked in every text."""
        configs = {name: self._of_config(config) for name, config in result.configs.items()}
        return replace(result, configs=configs, checks=[self._of_check(check) for check in result.checks])

    def _of_config(self, config: Mapping[str, str]) -> dict[str, str]:
        keys = secret_keys(self._catalog, config)
        return {
            key: HIDDEN if key in keys else self._known.hide(masked_setting(value)) for key, value in config.items()
        }

    def _of_check(self, check: Check) -> Check:
        tables = [self._of_table(table) for table in check.tables]
        return replace(check, summary=self.hide(check.summary), tables=tables)

    def _of_table(self, table: Table) -> Table:
        return replace(table, rows=[tuple(self.hide(cell) for cell in row) for row in table.rows])
