"""Implements dedup.mode=merge: batches are staged, and a guarded MERGE makes rows of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from connect.api.errors import ConfigError, ConfigProblem
from connectors.bigquery.dedup.rules import DedupRules, Deletes, Keep, NullKey
from connectors.bigquery.dedup.window import Late
from connectors.bigquery.modes.keyed import KeyedMode
from connectors.bigquery.modes.mode import TableWriter, WriterFactory
from connectors.bigquery.modes.view_names import taken_beside
from connectors.bigquery.rows.paths import Path

_HARD_DELETES = frozenset({Deletes.TOMBSTONE, Deletes.FIELD})


class MergeMode(KeyedMode):
    """Keeps one row of each key for ever, even if records are written again."""

    name = "merge"
    doc = "records are merged into rows by a MERGE."
    merges_rows = True
    merges_log = True
    is_idempotent = True
    has_own_way = True
    sorts_in_sql = True
    unordered_tombstone = (
        "Where its key has no such field either, it removes what its topic partition brought before it under its key, "
        "and what comes after it starts anew. Rows of other partitions stay, and what was older than a removed row "
        "does not come back: give all records of a key the same partition. In a backfill it is a bad record."
    )

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return a writer that stages batches and merges them."""
        return writers.merging(
            self.rules, remembers_deletes=self.remembers_deletes, remembers_clears=self.remembers_clears
        )

    def writing_problems(self) -> Iterator[ConfigProblem]:
        """Yield nothing: with one row of each key no record is there twice, so exactly.once holds as well."""
        yield from ()

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield notes on an order that is not known, on names, and on the costs of searching the whole table."""
        yield from super().notes()
        for text in taken_beside(self._config.named_topics, self._config.table_names):
            yield ConfigProblem("topic2TableMap", text)
        if self._config.dedup_keep == Keep.LATEST and self._config.dedup_window.lower() == "none":
            yield ConfigProblem(
                "dedup.window",
                "Each merge searches the whole table, and is billed for it. dedup.window with "
                "timestampPartitionFieldName searches the partitions of that time alone; dedup.keep=first and a larger "
                "dedup.merge.interval.ms cost less, too.",
            )
        if self._config.tombstone_retention_ms == 0 and (self.rules.deletes in _HARD_DELETES or self.rules.clears):
            yield ConfigProblem(
                "dedup.tombstone.retention.ms",
                "Deletes are not remembered, so a record that is merged after the delete of its row, though it came "
                "before, brings the row back: one that is read again, or the late merge of a task that was frozen. Set "
                "dedup.tombstone.retention.ms to longer than a task may stand still.",
            )

    @property
    def runs_jobs(self) -> bool:
        """Return True, as staging and merging are jobs."""
        return True

    @property
    def insert_id(self) -> tuple[Path, ...]:
        """Return no paths, as rows are not added by insertAll."""
        return ()

    @property
    def remembers_deletes(self) -> bool:
        """Return True if the keys and orders of hard deletes are kept in a second table."""
        return self.rules.deletes in _HARD_DELETES and self._config.tombstone_retention_ms > 0

    @property
    def rules_in_any_order(self) -> DedupRules:
        """Return the rules for records in any order. Tombstones without an order are left out, as they delete by their
        place in the log.
        """
        return replace(self.rules, clears=False)

    @property
    def remembers_clears(self) -> bool:
        """Return True if the keys and places of tombstones without an order are kept in a second table."""
        return self.rules.clears and self._config.tombstone_retention_ms > 0

    @property
    def tells_by_place(self) -> bool:
        """Return True if some rows are appended, as these are told apart by topic, partition and offset."""
        late = Late(self._config.dedup_late) is Late.APPEND
        return super().tells_by_place or late or self.rules.null_key is NullKey.APPEND

    @property
    def batch_rows(self) -> int:
        """Return the number of rows after which a batch is merged."""
        return self._config.max_records

    def batch_interval_s(self, topic: str) -> float:
        """Return the time between two merges of a table."""
        del topic
        return self._config.interval_ms / 1000

    @property
    def any_order_error(self) -> ConfigError | None:
        """Return an error if an older record could undo a delete, as deletes are not remembered; else None."""
        if self.rules.deletes not in _HARD_DELETES or self.remembers_deletes:
            return None
        return ConfigError(
            "Chunks are merged in any order, and a delete that is not remembered is undone by an older record that is "
            "merged after it.",
            key="dedup.tombstone.retention.ms",
            fix="Set it to more than the backfill takes, or set dedup.delete=soft.",
        )
