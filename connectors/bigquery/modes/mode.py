"""Declares what a value of dedup.mode decides: checks, rules, columns, tables beside the table, and how rows get in.

A mode is chosen in `choice.py` alone. It reads settings and opens nothing: a `WriterFactory` opens what
writes into tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from connect.api.errors import ConfigError, ConfigProblem
from connectors.bigquery.dedup.rules import DedupColumns, DedupRules, Deletes
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.rows.paths import Path, Root
from connectors.bigquery.rows.table_schema import Columns

if TYPE_CHECKING:
    from connectors.bigquery.settings.config import BigQuerySinkConfig

_PLACE = (Root.TOPIC, Root.PARTITION, Root.OFFSET, Root.TOPIC_ID)


class TableWriter(Protocol):
    """Puts batches into tables. Its methods block, and are called by several threads, one table a thread."""

    @property
    def threads(self) -> int:
        """Return the most threads by which its methods may be called at a time."""

    def doing(self, target: str) -> str:
        """Return what becomes of a batch that is on its way into this table, for people."""

    def write(self, batch: SealedBatch) -> Refusals:
        """Return once the rows are in the table, but for those that it does not take.

        RetriableError: they may be, and the same call is made again.
        """

    @property
    def collects(self) -> bool:
        """Return True if `collect` has something to do."""

    def collect(self) -> None:
        """Compact logs, or merge what other tasks of the connector staged for tables that this task merges."""

    def sweep(self) -> None:
        """Drop the staging tables that an earlier life of the task left behind."""

    def stop(self) -> None:
        """End every wait of the threads that write batches, with a RetriableError."""

    def close(self) -> None:
        """Close what it opened, once its threads have ended. May be called twice."""


class WriterFactory(Protocol):
    """Opens the writers into tables that there are, each as the settings say."""

    def merging(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> TableWriter:
        """Return what stages batches and merges them by these rules."""

    def by_table(self, writers: Mapping[str, TableWriter]) -> TableWriter:
        """Return what writes each table by the writer of the mode that was chosen for it."""

    def compacting(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> TableWriter:
        """Return what appends batches to logs, and merges these by the rules."""

    def adding(self, *, follows_merges: bool = False) -> TableWriter:
        """Return what adds rows: by load jobs, a stream or insertAll. follows_merges: a mode that merges may have
        written the tables before.
        """

    def capturing(self) -> TableWriter:
        """Return what sends changes, which BigQuery applies."""


class SqlNames(Protocol):
    """Tells how a table is called in SQL."""

    def path(self, table: str) -> str:
        """Return the quoted name of a table."""


class Mode(ABC):
    """One value of dedup.mode, which knows the settings around it. Subclasses override what they do in another way."""

    name: ClassVar[str]
    doc: ClassVar[str]
    """Ends the documentation of dedup.mode."""

    is_keyed: ClassVar[bool] = False
    """True if records that have equal dedup fields become one row."""
    merges_rows: ClassVar[bool] = False
    """True where a table holds one row of each key, so that a replay adds none."""
    is_idempotent: ClassVar[bool] = False
    """True where a batch that is written again, in any order, changes nothing. A backfill loads chunks by job else."""
    keeps_log: ClassVar[bool] = False
    """It is True where rows wait in a log beside their table."""
    owns_table: ClassVar[bool] = False
    """It is True where the mode is noted on its tables, as other modes of one row per key cannot go on with them."""
    merges_log: ClassVar[bool] = False
    """It is True where a log that is there is merged, as the mode that made it does."""
    chooses: ClassVar[bool] = False
    """It is True where each table has a mode of its own, see `of_table`."""
    has_own_way: ClassVar[bool] = False
    """True where useStorageWriteApi and its like have no say in how rows are written."""
    has_window: ClassVar[bool] = True
    """True where dedup.window is accepted."""
    unordered_tombstone: ClassVar[str] = ""
    """Says what a tombstone does whose key has no field of dedup.order.by either."""
    sorts_in_sql: ClassVar[bool] = False
    """True where a statement compares the columns of dedup.order.by."""

    def __init__(self, config: BigQuerySinkConfig) -> None:
        self._config = config

    @property
    @abstractmethod
    def rules(self) -> DedupRules:
        """Return the rules by which records are told apart."""

    @abstractmethod
    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return what writes batches into tables."""

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield what is wrong between the keys of dedup in this mode."""
        if not self.is_keyed and "dedup.delete" in self._config.originals and self._config.dedup_delete != "ignore":
            yield ConfigProblem(
                "dedup.delete",
                f"dedup.delete={self._config.dedup_delete} needs rows that a record can delete, and without "
                "dedup.mode=merge, cdc or view each record is added. Set dedup.delete=ignore, or one of these modes.",
            )
        if self.lacks_fields and not self._config.dedup_fields:
            yield ConfigProblem("dedup.fields", f"dedup.mode={self.name} needs dedup.fields.")
        if not self.has_window and self._config.dedup_window.lower() != "none":
            yield ConfigProblem("dedup.window", f"dedup.mode={self.name} knows no dedup.window: leave it out.")

    def writing_problems(self) -> Iterator[ConfigProblem]:
        """Yield the settings of how rows are written that this mode cannot keep."""
        if self._config.exactly_once and (self._config.batch_load or self._config.batch_mode):
            yield ConfigProblem(
                "exactly.once",
                "exactly.once adds rows by streams: leave enableBatchLoad and enableBatchMode out, or set "
                "dedup.fields=__topic_id,__partition,__offset and dedup.keep=first, which goes by load jobs.",
            )

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield what a user should know where the order of two records is not known."""
        rules, config = self.rules, self._config
        if rules.fields and rules.order_by[0].root in {Root.OFFSET, Root.PARTITION}:
            yield ConfigProblem(
                "dedup.order.by",
                f"dedup.order.by={rules.order_by[0]} tells which of two records is the later one within a partition "
                "alone: a key that moves to another partition, or a topic that is made anew, can keep an older value. "
                "Leave it out for Kafka's time, or name a field such as a version.",
            )
        if config.delete and not self.is_keyed:
            yield ConfigProblem(
                "deleteEnabled",
                f"deleteEnabled has no effect with dedup.mode={self.name}, which adds each record: tombstones delete "
                "nothing. Leave dedup.mode out, as in a Java configuration.",
            )
        if config.upsert and not config.dedup_fields and "dedup.order.by" not in config.originals:
            yield ConfigProblem(
                "dedup.order.by",
                "The latest record of a key is that of the largest Kafka timestamp, as offsets say nothing across "
                "partitions and topics made anew. Where producers' clocks differ by more than the time between two "
                "records of a key, name a field such as a version.",
            )
        in_values = ", ".join(str(path) for path in rules.order_by if path.root is Root.VALUE)
        if rules.fields and in_values and rules.deletes not in {Deletes.IGNORE, Deletes.REFUSE}:
            yield ConfigProblem("dedup.order.by", f"A tombstone has no {in_values}. {self.unordered_tombstone}")
        named = {path.root for path in rules.fields}
        if {Root.OFFSET, Root.TOPIC} <= named and Root.TOPIC_ID not in named:
            yield ConfigProblem(
                "dedup.fields",
                "A topic that is made anew has the same offsets once more, and its records count as those before. "
                "dedup.fields=__topic_id,__partition,__offset tells them apart.",
            )

    def of_table(self, choice: str) -> Mode:
        """Return the mode of a table for which `choice` was chosen."""
        del choice
        return self

    @property
    def lacks_fields(self) -> bool:
        """Return True where nothing says what makes two records one row."""
        return not (self._config.dedup_fields or self._config.upsert)

    @property
    def uses_storage_api(self) -> bool:
        """Return True if rows go by the Storage Write API."""
        return self._config.use_storage_api or self._config.exactly_once

    @property
    def runs_jobs(self) -> bool:
        """Return True where the account needs the right to run jobs."""
        return bool(self._config.batch_load) or self._config.batch_mode

    @property
    def insert_id(self) -> tuple[Path, ...]:
        """Return the paths of a row's insertId, as in Java topic, partition and offset, and the topic's id."""
        return tuple(map(Path, _PLACE))

    @property
    def remembers_deletes(self) -> bool:
        """Return True where hard deletes leave their key and order in a second table."""
        return False

    @property
    def rules_in_any_order(self) -> DedupRules:
        """Return the rules for records that are not written in the order of their log, as chunks of a backfill."""
        return self.rules

    @property
    def remembers_clears(self) -> bool:
        """Return True if tombstones without an order leave their key and place in a second table."""
        return False

    @property
    def tells_by_place(self) -> bool:
        """Return True where rows are told apart by topic, partition and offset."""
        return self._config.exactly_once

    @property
    def rows_may_lack_values(self) -> bool:
        """Return True where a delete becomes a row that has its key alone."""
        return self.rules.deletes is Deletes.SOFT

    @property
    def batch_rows(self) -> int:
        """Return the number of rows after which a batch ends."""
        return self._config.dedup_max_records

    def batch_interval_s(self, topic: str) -> float:
        """Return how long a batch gathers; rows that are added one by one only wait for the batch before them."""
        if topic in self._config.batch_load:
            return float(self._config.batch_load_interval_s)
        return float(self._config.commit_interval_s) if self._config.batch_mode else 0.0

    @property
    def max_staleness_s(self) -> int | None:
        """Return how old what queries of a new table see may be; None where they see all."""
        return None

    def primary_key(self, dedup: DedupColumns) -> list[str]:
        """Return the primary key of a new table where table.primary.key names none."""
        del dedup
        return []

    def check_new_table(self, path: str, columns: Columns, dedup: DedupColumns) -> None:
        """Raise ConfigError where a new table with these columns cannot be written in this mode."""
        del path, columns, dedup

    def check_table(self, path: str, primary_key: Sequence[str], dedup: DedupColumns) -> None:
        """Raise ConfigError where an existing table with this primary key cannot be written in this mode."""
        del path, primary_key, dedup

    @property
    def any_order_error(self) -> ConfigError | None:
        """Return what is wrong where rows would depend on the order in which chunks are written."""
        return None

    def views_beside(
        self, target: str, names: SqlNames, columns: Columns, dedup: DedupColumns, beside: Mapping[str, Columns]
    ) -> Mapping[str, str]:
        """Return the text of each view of a table by its name. beside: the columns of the tables that remember deletes
        of it, by their names; those that are not there are left out.
        """
        del target, names, columns, dedup, beside
        return {}
