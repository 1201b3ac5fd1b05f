"""dedup.mode=merge: batches are staged, and a guarded MERGE makes rows of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from connect.api.errors import ConfigError, ConfigProblem
from connectors.bigquery.dedup.rules import DedupRules, Deletes, Keep, NullKey
from connectors.bigquery.dedup.window import Late
from connectors.bigquery.modes.keyed import KeyedMode
from connectors.bigquery.modes.mode import TableWriter, WriterFactory
from connectors.bigquery.rows.paths import Path

_HARD_DELETES = frozenset({Deletes.TOMBSTONE, Deletes.FIELD})


class MergeMode(KeyedMode):
    """Keeps one row of each key for ever, whatever is written again."""

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
        """Return what stages batches and merges them."""
        return writers.merging(
            self.rules, remembers_deletes=self.remembers_deletes, remembers_clears=self.remembers_clears
        )

    def writing_problems(self) -> Iterator[ConfigProblem]:
        """Yield nothing: one row of each key is each record once, too."""
        yield from ()

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield what is not known of the order, and that a search of the whole table costs more than it has to."""
        yield from super().notes()
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
        """Return nothing, as rows are not inserted one by one."""
        return ()

    @property
    def remembers_deletes(self) -> bool:
        """Return True where hard deletes leave their key and order in a second table."""
        return self.rules.deletes in _HARD_DELETES and self._config.tombstone_retention_ms > 0

    @property
    def rules_in_any_order(self) -> DedupRules:
        """Return the rules without tombstones that need the order of the log: of two records behind one, the row would
        keep the one before it.
        """
        return replace(self.rules, clears=False)

    @property
    def remembers_clears(self) -> bool:
        """Return True if such tombstones leave their key and place in a second table."""
        return self.rules.clears and self._config.tombstone_retention_ms > 0

    @property
    def tells_by_place(self) -> bool:
        """Return True where some rows are told apart by topic, partition and offset, as those that are appended are."""
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
        """Return an error where a delete that is not remembered could be undone by an older record."""
        if self.rules.deletes not in _HARD_DELETES or self.remembers_deletes:
            return None
        return ConfigError(
            "Chunks are merged in any order, and a delete that is not remembered is undone by an older record that is "
            "merged after it.",
            key="dedup.tombstone.retention.ms",
            fix="Set it to more than the backfill takes, or set dedup.delete=soft.",
        )
