"""dedup.mode=view: each record is added, and a view beside the table shows the one of each key that stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connectors.bigquery.dedup.rules import DedupColumns, DedupRules, Deletes
from connectors.bigquery.dedup.view_sql import LatestView
from connectors.bigquery.modes.keyed import KeyedMode
from connectors.bigquery.modes.mode import Landing, SqlNames, Ways
from connectors.bigquery.rows.table_schema import Columns


class ViewMode(KeyedMode):
    """Keeps all records, and tells rows apart when they are read."""

    name = "view"
    doc = "each record is added, and a view beside the table shows the rows."
    has_window = False

    @property
    def rules(self) -> DedupRules:
        """Return the rules with soft deletes, as nothing is taken out of the table."""
        rules = super().rules
        return rules if rules.deletes is Deletes.IGNORE else replace(rules, deletes=Deletes.SOFT)

    def landing(self, ways: Ways) -> Landing:
        """Return what adds rows."""
        return ways.adding()

    def views_beside(self, target: str, names: SqlNames, columns: Columns, dedup: DedupColumns) -> Mapping[str, str]:
        """Return the view, with the columns that its table has now."""
        keys, order = ([placed.column for placed in found] for found in (dedup.keys, dedup.order))
        view = LatestView(names.path(target), [column.name for column in columns], keys, order, self.rules.keep)
        return {f"{target}{self._config.view_suffix}": view.text()}
