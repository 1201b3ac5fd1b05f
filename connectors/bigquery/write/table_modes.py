"""Finds the mode of each table, and has dedup.mode=auto choose one where there is none yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence

from connectors.bigquery.cost.asking import choice_for, told_of_dear_merges
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.modes.auto import CHOICES, NAMED, Choice, choice_in
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.budget import prices_of_config
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_TOLD_MOST = 20
"""So many tables are told one by one."""


class TableModes:
    """It knows the modes of a task's tables. A choice stands in a label of its table, for all tasks and lives."""

    def __init__(self, config: BigQuerySinkConfig, warehouse: Warehouse) -> None:
        self._config = config
        self._warehouse = warehouse
        self._modes: dict[str, Mode] = {}
        self._choices: dict[str, Choice] = {}
        self._dear: dict[str, str] = {}

    def of(self, target: str) -> Mode:
        """Return the mode of a table, that of the configuration where none was settled."""
        return self._modes.get(target, self._config.mode)

    def settle(self, target: str, table: TableFacts) -> None:
        """Find the mode of a table that is there, or choose it. A mode that is named is its user's word, for auto, too,
        when that is set again. `check_change` has let the mode go on with it.
        """
        mode = self._config.mode
        label = table.labels.get(MODE_LABEL, "")
        if not mode.chooses:
            if (label and label != mode.name and mode.name in CHOICES) or (mode.owns_table and label != mode.name):
                self._warehouse.label(target, Choice(mode.name, NAMED).labels)
            self._modes[target] = mode
            return
        kept = choice_in(table.labels)
        if kept is None:
            choice = choice_for(self._config, self._warehouse, prices_of_config(self._config), target, time.time())

            def labelled(now: Mapping[str, str]) -> Mapping[str, str] | None:
                return None if now.get(MODE_LABEL) in CHOICES else {**now, **choice.labels}

            if self._warehouse.relabel(target, labelled):
                _log.info("dedup.mode=auto takes %s for table %s: %s.", choice.mode, target, choice.why)
                kept = choice
            else:  # another task has chosen meanwhile
                now = self._warehouse.table(target)
                kept = (None if now is None else choice_in(now.labels)) or choice
        self._keep(table, kept)
        self._modes[target] = mode.of_table(kept.mode)

    def recall(self, targets: Iterable[str]) -> None:
        """Look up what was chosen for tables before, so that it is told before their first rows come, too."""
        if not self._config.mode.chooses:
            return
        for target in list(targets)[:_TOLD_MOST]:
            table = self._warehouse.table(target)
            chosen = None if table is None else choice_in(table.labels)
            if table is not None and chosen is not None:
                self._keep(table, chosen)

    def _keep(self, table: TableFacts, choice: Choice) -> None:
        """Hold the choice for a table, with what became of its costs. Nobody but its user changes it."""
        self._choices[table.name], config = choice, self._config
        is_merged = choice.mode == MergeMode.name
        self._dear[table.name] = (
            told_of_dear_merges(config, self._warehouse, prices_of_config(config), table, time.time())
            if is_merged
            else ""
        )

    def told(self) -> Sequence[str]:
        """Return a sentence for each table that dedup.mode=auto has chosen for; none where a mode is named."""
        lines = [
            f"dedup.mode=auto takes {choice.mode} for table {self._config.table_path(target)}: {choice.why}."
            f"{self._dear.get(target, '')}"
            for target, choice in sorted(self._choices.copy().items())
        ]
        more = len(lines) - _TOLD_MOST
        if more > 0:
            lines[_TOLD_MOST:] = [f"dedup.mode=auto has chosen for {more} more tables: see their labels {MODE_LABEL}."]
        return lines
