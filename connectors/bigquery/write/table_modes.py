"""Finds the dedup mode of each table. With dedup.mode=auto it chooses one for a table that has none yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from connect.api.errors import ConfigError, ConnectError
from connectors.bigquery.cost.asking import choice_for, told_of_dear_merges
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.modes.auto import CHANGING, CHOICES, NAMED, Choice, choice_in
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.budget_keys import prices_of_config
from connectors.bigquery.tables.mode_changes import check_log, is_changing
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_TOLD_MOST: Final = 20
"""At most so many tables are named one by one in the notes."""
_PRICED_EVERY_S: Final = 6 * 3600.0
"""The costs of a table are computed anew after so many seconds, as the query that counts partitions is billed."""


class TableModes:
    """Knows the modes of a task's tables. A choice is a label of its table, so all tasks and later runs keep to it."""

    def __init__(
        self, config: BigQuerySinkConfig, warehouse: Warehouse, line: MergeLine, now_s: Callable[[], float]
    ) -> None:
        """Take the settings. `now_s` returns the seconds of a clock that never goes back."""
        self._config = config
        self._warehouse = warehouse
        self._line = line
        self._now_s = now_s
        self._modes: dict[str, Mode] = {}
        self._choices: dict[str, Choice] = {}
        self._dear: dict[str, str] = {}
        self._priced_at_s: dict[str, float] = {}

    def of(self, target: str) -> Mode:
        """Return the mode of a table: the one that `settle` found, or else the one of the configuration."""
        return self._modes.get(target, self._config.mode)

    def settle(self, target: str, table: TableFacts) -> None:
        """Find the mode of an existing table, or choose it. `check_change` has to accept the table before.

        A mode that the configuration names is noted on the table, and dedup.mode=auto keeps to it when it is set later.
        """
        mode = self._config.mode
        label = table.labels.get(MODE_LABEL, "")
        if not mode.chooses:
            if label and label != mode.name and mode.name in CHOICES:
                self._choose(table, Choice(mode.name, NAMED))
            elif mode.owns_table and (label != mode.name or is_changing(table)):
                self._take_over(target)
            self._modes[target] = mode
            return
        kept = choice_in(table.labels)
        if kept is None:
            choice = choice_for(self._config, self._warehouse, prices_of_config(self._config), target, time.time())
            if self._choose(table, choice):
                _log.info("dedup.mode=auto takes %s for table %s: %s.", choice.mode, target, choice.why)
                kept = choice
            else:  # another task has chosen a mode for the table meanwhile
                now = self._warehouse.table(target)
                kept = (None if now is None else choice_in(now.labels)) or choice
        self._keep(table, kept)
        self._modes[target] = mode.of_table(kept.mode)

    def _choose(self, table: TableFacts, choice: Choice) -> bool:
        """Note a choice in the table's labels. Return False if somebody has noted another mode meanwhile."""
        known = table.labels.get(MODE_LABEL)

        def labelled(now: Mapping[str, str]) -> Mapping[str, str] | None:
            return {**now, **choice.labels} if now.get(MODE_LABEL) == known else None

        return self._warehouse.relabel(table.name, labelled)

    def _take_over(self, target: str) -> None:
        """Label the table with the configured mode, once no statement of a mode that merged can follow.

        Raise ConfigError, and leave the table as it was, if its log has rows or somebody has set another mode.
        """
        config, name = self._config, self._config.mode.name
        self._warehouse.label(target, Choice(name, CHANGING).labels)
        self._line.end(target)
        check_log(config, self._warehouse, target)

        def taken(now: Mapping[str, str]) -> Mapping[str, str] | None:
            return {**now, **Choice(name, NAMED).labels} if now.get(MODE_LABEL) == name else None

        if not self._warehouse.relabel(target, taken):
            raise ConfigError(
                f"Table {config.table_path(target)} was given another dedup.mode while dedup.mode={name} took it over.",
                key="dedup.mode",
                fix="Give all connectors that write this table the same dedup.mode, and restart the task.",
            )

    def recall(self, targets: Iterable[str]) -> None:
        """Look up the modes that were chosen for tables earlier, so that the notes tell them before rows come."""
        if not self._config.mode.chooses:
            return
        for target in list(targets)[:_TOLD_MOST]:
            table = self._warehouse.table(target)
            chosen = None if table is None else choice_in(table.labels)
            if table is not None and chosen is not None:
                self._keep(table, chosen)

    @property
    def are_priced(self) -> bool:
        """Return True if there are tables whose costs `look` has to compute from time to time."""
        return bool(self._priced_at_s)

    def look(self) -> None:
        """Compute anew what merges of a table cost if that was long ago, as tables grow. Called on any thread."""
        for target, priced_at_s in self._priced_at_s.copy().items():
            if self._now_s() - priced_at_s < _PRICED_EVERY_S:
                continue
            self._priced_at_s[target] = self._now_s()
            try:
                table = self._warehouse.table(target)
                told = "" if table is None else self._told_of(table)
            except ConnectError as error:
                _log.info("What merges of table %s cost now is not known: %s", target, error)
                continue
            if told and not self._dear[target]:
                _log.warning("Table %s is merged by dedup.mode=auto.%s", self._config.table_path(target), told)
            self._dear[target] = told

    def _keep(self, table: TableFacts, choice: Choice) -> None:
        """Keep the choice for a table, and a sentence if its merges have become dear. Only users change a choice."""
        self._choices[table.name] = choice
        if choice.mode == MergeMode.name:
            self._dear[table.name], self._priced_at_s[table.name] = self._told_of(table), self._now_s()

    def _told_of(self, table: TableFacts) -> str:
        """Return a sentence if merges of this table have become dear; else an empty text."""
        config = self._config
        return told_of_dear_merges(config, self._warehouse, prices_of_config(config), table, time.time())

    def told(self) -> Sequence[str]:
        """Return a sentence for each table whose mode dedup.mode=auto has chosen; none if the settings name a mode."""
        lines = [
            f"dedup.mode=auto takes {choice.mode} for table {self._config.table_path(target)}: {choice.why}."
            f"{self._dear.get(target, '')}"
            for target, choice in sorted(self._choices.copy().items())
        ]
        more = len(lines) - _TOLD_MOST
        if more > 0:
            lines[_TOLD_MOST:] = [f"dedup.mode=auto has chosen for {more} more tables: see their labels {MODE_LABEL}."]
        return lines
