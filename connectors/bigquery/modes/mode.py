"""Declares what a value of dedup.mode decides: checks, rules, columns, further tables, and how rows are written.

Only `choice.py` chooses a mode. A mode reads settings and opens nothing: a `WriterFactory` opens the writers into
tables.
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
    """Puts batches into tables. Its methods block; several threads call them, each for another table."""

    @property
    def threads(self) -> int:
        """Return how many threads may call its methods at a time."""

    def doing(self, target: str) -> str:
        """Return in words what happens to a batch of this table that is being written."""

    def write(self, batch: SealedBatch) -> Refusals:
        """Write a batch, and return the refused rows once all others are in the table.

        Raise RetriableError if rows may be missing; then the same call is made again.
        """

    @property
    def collects(self) -> bool:
        """Return True if `collect` has something to do."""

    def collect(self) -> None:
        """Compact logs, or merge the batches that other tasks staged for the tables that this task merges."""

    def sweep(self) -> None:
        """Drop the staging tables that an earlier life of the task left behind."""

    def stop(self) -> None:
        """End every wait of the threads that write batches, with a RetriableError."""

    def close(self) -> None:
        """Close what it opened, once its threads have ended. May be called twice."""


class WriterFactory(Protocol):
    """Opens each kind of table writer by the settings."""

    def merging(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> TableWriter:
        """Return a writer that stages batches and merges them by these rules."""

    def by_table(self, writers: Mapping[str, TableWriter]) -> TableWriter:
        """Return a writer that writes each table by the writer of the mode that was chosen for it."""

    def compacting(self, rules: DedupRules, *, remembers_deletes: bool, remembers_clears: bool) -> TableWriter:
        """Return a writer that appends batches to logs, and merges the logs by these rules."""

    def adding(self, *, follows_merges: bool = False) -> TableWriter:
        """Return a writer that adds rows by load jobs, a stream or insertAll. `follows_merges` is True if a mode that
        merges may have written the tables before.
        """

    def capturing(self) -> TableWriter:
        """Return a writer that sends changes, which BigQuery applies to its tables."""


class SqlNames(Protocol):
    """Tells the names of tables in SQL."""

    def path(self, table: str) -> str:
        """Return the quoted name of a table."""


class Mode(ABC):
    """Decides what one value of dedup.mode means with the other settings. Subclasses override what differs for them."""

    name: ClassVar[str]
    doc: ClassVar[str]
    """Describes the mode; it is shown at the end of the documentation of dedup.mode."""

    is_keyed: ClassVar[bool] = False
    """True if records that have equal dedup fields become one row."""
    merges_rows: ClassVar[bool] = False
    """True if a table holds one row of each key, so that records which are written again add no row."""
    is_idempotent: ClassVar[bool] = False
    """True if a batch that is written again, in any order, changes nothing. Else backfills use a load job per chunk."""
    keeps_log: ClassVar[bool] = False
    """True if rows wait in a log, a second table, until they are merged."""
    owns_table: ClassVar[bool] = False
    """True if a label of its tables names the mode, as other modes of one row per key cannot go on with them."""
    merges_log: ClassVar[bool] = False
    """True if the mode merges a log that another mode has left."""
    chooses: ClassVar[bool] = False
    """True if the mode is chosen table by table, see `of_table`."""
    has_own_way: ClassVar[bool] = False
    """True if settings such as useStorageWriteApi do not change how rows are written."""
    has_window: ClassVar[bool] = True
    """True where dedup.window is accepted."""
    unordered_tombstone: ClassVar[str] = ""
    """Says what happens to a tombstone without an order: neither it nor its key has the field of dedup.order.by."""
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
        """Return the writer of batches into tables."""

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield the `dedup.*` settings that contradict each other in this mode."""
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
        """Yield the settings on how rows are written that this mode does not support."""
        if self._config.exactly_once and (self._config.batch_load or self._config.batch_mode):
            yield ConfigProblem(
                "exactly.once",
                "exactly.once adds rows by streams: leave enableBatchLoad and enableBatchMode out, or set "
                "dedup.fields=__topic_id,__partition,__offset and dedup.keep=first, which goes by load jobs.",
            )

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield notes for the user if it is not known which of two records is the later one."""
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
            behind_delete = (
                " Behind a delete it takes the place of that: where a key has had several partitions, drop tombstones "
                "(tombstones.on.delete=false, or Filter with RecordIsTombstone), so that deletes reach all of them."
            )
            told = f"{self.unordered_tombstone}{behind_delete if rules.clears and rules.delete_field else ''}"
            yield ConfigProblem("dedup.order.by", f"A tombstone has no {in_values}. {told}")
        named = {path.root for path in rules.fields}
        if {Root.OFFSET, Root.TOPIC} <= named and Root.TOPIC_ID not in named:
            yield ConfigProblem(
                "dedup.fields",
                "A topic that is made anew has the same offsets once more, and its records count as those before. "
                "dedup.fields=__topic_id,__partition,__offset tells them apart.",
            )
        if {Root.OFFSET, Root.TOPIC_ID} <= named:
            yield ConfigProblem(
                "dedup.fields",
                "Kafka gives no id with records. Where a topic is made anew, and filled beyond the place of its reader "
                "before that looks, the rows of up to 10 seconds have the former topic's id: read again, they come "
                "twice. Stop the connector before a topic is made anew.",
            )
        if Root.OFFSET in named and Root.ROW not in named and self._explodes:
            yield ConfigProblem(
                "dedup.fields",
                "Explode makes several rows of a record, which have one offset, so one of them stays. Name __row "
                "behind __offset to keep each.",
            )

    @property
    def _explodes(self) -> bool:
        """Return True if a transform makes several rows of a record."""
        names = str(self._config.originals.get("transforms", "")).split(",")
        types = (str(self._config.originals.get(f"transforms.{name.strip()}.type", "")) for name in names)
        return any(".Explode$" in text for text in types)

    def of_table(self, choice: str) -> Mode:
        """Return the mode of a table for which `choice` was chosen."""
        del choice
        return self

    @property
    def lacks_fields(self) -> bool:
        """Return True if no setting says which records become one row."""
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
        """Return the paths of a row's insertId: topic, partition and offset, as in Java, and the topic's id."""
        return tuple(map(Path, _PLACE))

    @property
    def remembers_deletes(self) -> bool:
        """Return True if the keys and orders of hard deletes are kept in a second table."""
        return False

    @property
    def rules_in_any_order(self) -> DedupRules:
        """Return the rules for records that are not written in the order of their log, as those of a backfill."""
        return self.rules

    @property
    def remembers_clears(self) -> bool:
        """Return True if the keys and places of tombstones without an order are kept in a second table."""
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
        """Return for how many seconds a batch gathers rows; 0 if rows only wait until the batch before is written."""
        if topic in self._config.batch_load:
            return float(self._config.batch_load_interval_s)
        return float(self._config.commit_interval_s) if self._config.batch_mode else 0.0

    @property
    def max_staleness_s(self) -> int | None:
        """Return how many seconds old the answers of queries on a new table may be; None: they see all rows."""
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
        """Return an error if rows would depend on the order in which chunks of a backfill are written; else None."""
        return None

    def views_beside(
        self, target: str, names: SqlNames, columns: Columns, dedup: DedupColumns, beside: Mapping[str, Columns]
    ) -> Mapping[str, str]:
        """Return the query of each view of a table, by the view's name. `beside` has the columns of the existing tables
        that remember deletes of the table, by their names.
        """
        del target, names, columns, dedup, beside
        return {}
