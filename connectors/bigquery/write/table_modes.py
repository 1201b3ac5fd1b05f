"""Finds the mode of each table, and has dedup.mode=auto choose one where there is none yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from connectors.bigquery.cost.asking import choice_for
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.modes.auto import CHOICES
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.budget import prices_of_config
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)


class TableModes:
    """It knows the modes of a task's tables. A choice stands in a label of its table, for all tasks and lives."""

    def __init__(self, config: BigQuerySinkConfig, warehouse: Warehouse) -> None:
        self._config = config
        self._warehouse = warehouse
        self._modes: dict[str, Mode] = {}

    def of(self, target: str) -> Mode:
        """Return the mode of a table, that of the configuration where none was settled."""
        return self._modes.get(target, self._config.mode)

    def settle(self, target: str, table: TableFacts) -> None:
        """Find the mode of a table that is there, or choose it. A mode that is named is its user's word, for auto, too,
        when that is set again.
        """
        mode = self._config.mode
        label = table.labels.get(MODE_LABEL, "")
        if not mode.chooses:
            if label and label != mode.name and mode.name in CHOICES:
                self._warehouse.label(target, {MODE_LABEL: mode.name})
            self._modes[target] = mode
            return
        if label not in CHOICES:
            choice = choice_for(self._config, self._warehouse, prices_of_config(self._config), target, time.time())

            def labelled(now: Mapping[str, str]) -> Mapping[str, str] | None:
                return None if now.get(MODE_LABEL) in CHOICES else {**now, MODE_LABEL: choice.mode}

            if self._warehouse.relabel(target, labelled):
                _log.info("dedup.mode=auto takes %s for table %s: %s.", choice.mode, target, choice.why)
                label = choice.mode
            else:  # another task has chosen meanwhile
                now = self._warehouse.table(target)
                label = choice.mode if now is None else now.labels.get(MODE_LABEL, choice.mode)
        self._modes[target] = mode.of_table(label)
