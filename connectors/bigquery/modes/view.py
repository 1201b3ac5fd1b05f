"""Implements dedup.mode=view: each record is added, and a view beside the table shows one record of each key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.rules import CLEARS, SOFT_DELETED, DedupColumns, DedupRules, Deletes, flat
from connectors.bigquery.dedup.side_tables import cleared_table, deletes_table
from connectors.bigquery.dedup.view_sql import LatestView, Memory
from connectors.bigquery.modes.keyed import KeyedMode
from connectors.bigquery.modes.mode import SqlNames, TableWriter, WriterFactory
from connectors.bigquery.modes.view_names import taken_names
from connectors.bigquery.rows.table_schema import Columns, by_name


class ViewMode(KeyedMode):
    """Keeps all records, and tells rows apart when they are read."""

    name = "view"
    doc = "each record is added, and a view beside the table shows the rows."
    has_window = False
    owns_table = True
    unordered_tombstone = (
        "Where its key has no such field either, it hides what its topic partition brought before it under its key, "
        "and what comes after it starts anew. Rows of other partitions stay."
    )

    @property
    def rules(self) -> DedupRules:
        """Return the rules with soft deletes, as no row is deleted from the table."""
        rules = super().rules
        deletes = Deletes.IGNORE if rules.deletes is Deletes.IGNORE else Deletes.SOFT
        return replace(rules, deletes=deletes, stores_clears=rules.clears)

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield the tables that have the names of views, and the problems of every mode."""
        yield from super().problems()
        yield from taken_names(self._config.named_topics, self._config.table_names, self._config.view_suffix)

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return a writer that adds rows."""
        return writers.adding(follows_merges=True)

    def views_beside(
        self, target: str, names: SqlNames, columns: Columns, dedup: DedupColumns, beside: Mapping[str, Columns]
    ) -> Mapping[str, str]:
        """Return the view, with the columns that its table has now."""
        keys = [placed.column for placed in dedup.keys]
        # A table that has had nothing but deletes may lack a column that orders values.
        order = [placed.column for placed in dedup.order if placed.column.lower() in by_name(columns)]
        shown = [column.name for column in columns]
        memories = [
            Memory(names.path(name), frozenset(by_name(beside[name])), mark)
            for name, mark in ((deletes_table(target), SOFT_DELETED), (cleared_table(target), CLEARS))
            if mark in shown and by_name(beside.get(name, ())).keys() >= {flat(key).lower() for key in keys}
        ]
        view = LatestView(names.path(target), shown, keys, order, self.rules.keep, memories=memories)
        return {f"{target}{self._config.view_suffix}": view.text()}
