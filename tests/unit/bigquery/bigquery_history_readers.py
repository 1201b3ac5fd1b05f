"""Reads the tables of a history as readers see them, and compares them with what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bigquery_history_checks import PromisedRows, check_values
from bigquery_history_log import Promise, Sent, Topics
from plain_bigquery import PlainBigQuery

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.side_tables import MODE_LABEL, REASON_LABEL
from connectors.bigquery.modes.auto import CHANGING


@dataclass(frozen=True)
class Readers:
    """Those who read the tables. The history goes on changing what its fields hold.

    `changed_at` is what was `committed` when the mode was changed last. `letters` are places of bad records.
    """

    service: PlainBigQuery
    settings: Mapping[str, str]
    topics: Topics
    table_of: Mapping[str, str]
    promise: Promise
    letters: set[tuple[str, str, int, int]]
    committed: Mapping[TopicPartition, int]
    changed_at: Mapping[TopicPartition, int]

    @property
    def see_views(self) -> bool:
        return self.settings.get("dedup.mode") == "view"

    def look(self, *, is_settled: bool) -> None:
        """Check that the tables hold what the README promises of all that was read."""
        log, checks = self.topics.all, PromisedRows(self.promise)
        wrong = {sent.place for sent in log if self.promise.is_bad(sent)} ^ self.letters
        named = [one for one in log if one.place in wrong]
        assert not wrong, f"letters that are none, or are missing: {named[:5]}"
        sent_to: dict[str, list[Sent]] = {table: [] for table in self.table_of.values()}
        for one in log:
            sent_to[self.table_of[one.topic]].append(one)
        for table, sent in sent_to.items():
            rows, has_all_values = self._shown(table)
            alive = [row for row in rows if not row.get("_deleted")]
            if self.promise.key == ("place",):
                checks.each(sent, rows)
            else:
                checks.rows(sent, alive)
            if is_settled and has_all_values:
                check_values(sent, alive)

    def held_back(self) -> list[str]:
        """Return the tables that no view may take over yet, as their logs have rows."""
        return [
            table for table in sorted(set(self.table_of.values()))
            if f"_{table}_log" in self.service.tables and self.service.rows(f"_{table}_log")
            and (self._labels(table)[0] != "view" or self._labels(table)[1] == CHANGING)
        ]  # fmt: skip

    def _shown(self, table: str) -> tuple[list[dict[str, Any]], bool]:
        """Return the rows that readers see, and True if they have all columns of the table.

        Readers see the table or, while a log has rows that no merge has met, the view, which may lack new columns.
        """
        rows = self.service.rows(table)
        log = f"_{table}_log"
        if self.see_views:
            return (self.service.rows(f"{table}_latest"), False) if self._labels(table)[0] == "view" else (rows, True)
        if log not in self.service.tables:
            return rows, True
        if self.settings["dedup.mode"] == "merge" and (self._has_merged(table) or not self.service.rows(log)):
            return rows, True
        shown = self.service.rows(f"{table}_latest")
        return shown, bool(shown) and bool(rows) and shown[0].keys() == rows[0].keys()

    def _has_merged(self, table: str) -> bool:
        """Return True if records were written since the mode was changed: their merge takes in what the log has."""
        new = {
            (partition, row.offset)
            for partition, rows in self.topics.logs.items() if self.table_of[partition.topic] == table
            for row in rows if not self.promise.is_bad(row) and row.value is not None
        }  # fmt: skip
        return any(self.changed_at[partition] <= offset < self.committed[partition] for partition, offset in new)

    def _labels(self, table: str) -> tuple[str, str]:
        """Return the mode of a table, and the reason that stands beside it."""
        labels = self.service.tables[table].resource.get("labels") or {}
        return labels.get(MODE_LABEL, ""), labels.get(REASON_LABEL, "")
