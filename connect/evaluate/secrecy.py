"""A result without the configuration's secrets, wherever they got into: errors of drivers, samples, keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connect.api.secrets import HIDDEN, hidden_in, masked
from connect.evaluate.result import Check, Result, Table
from connect.plugins import Catalog
from connect.runtime.config_secrets import secret_keys, secret_texts


class Secrecy:
    """Knows the secrets of one configuration."""

    def __init__(self, catalog: Catalog, config: Mapping[str, str]) -> None:
        self._keys = secret_keys(catalog, config)
        self._texts = secret_texts(catalog, config)

    def hide(self, text: str) -> str:
        """A text without the secrets."""
        return masked(hidden_in(text, self._texts))

    def of_result(self, result: Result) -> Result:
        """A result in which no text holds a secret."""
        config = {k: HIDDEN if k in self._keys else self.hide(v) for k, v in result.config.items()}
        return replace(result, config=config, checks=[self._of_check(check) for check in result.checks])

    def _of_check(self, check: Check) -> Check:
        tables = [self._of_table(table) for table in check.tables]
        return replace(check, summary=self.hide(check.summary), tables=tables)

    def _of_table(self, table: Table) -> Table:
        return replace(table, rows=[tuple(self.hide(cell) for cell in row) for row in table.rows])
