"""Reads tables for backfills: ranges of tokens are the splits, and any engine reads them as the source does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from connect.api.errors import ConnectError, RetriableError
from connect.api.optional.bulk import BulkPlan, SplitSize
from connect.api.optional.bulk import Split as BulkSplit
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.page_size import PageSize
from connectors.cassandra.cql.schema_reader import Schemas, read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.splits import Split, SplitProgress, cut, progress_of
from connectors.cassandra.cql.statements import count_query, range_query
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.estimates import Estimate, estimate_of
from connectors.cassandra.source.page_rows import page_rows
from connectors.cassandra.source.rows_by_key import RowsByKey, asking
from connectors.cassandra.source.split_reader import SplitReader
from connectors.cassandra.source.sweeps import Sweep
from connectors.cassandra.source.table_choice import chosen_tables, require_numbered_tokens

_MOST_SPLITS: Final = 100_000
_COUNT_ROWS: Final = 5000
_READ_S: Final = 600.0
"""One page may take so many seconds. After that the framework tries the chunk again."""
CHANGING: Final = (
    "Rows that change while their range is read may be there as they were before or after. Each change is in the "
    "commit log: run `connect agent cassandra` from before the backfill begins, and take the newer writetime."
)


def plan_tables(config: CassandraSourceConfig, size: SplitSize) -> BulkPlan:
    """Plan the reading of all chosen tables as ranges of tokens.

    ConnectError: the configuration chooses no table, or a mode that reads tables again and again.
    """
    if config.mode != "snapshot":
        raise ConnectError(
            f"mode={config.mode} reads tables again and again, which has no end that a bulk read could reach.",
            key="mode",
            fix="Use mode=snapshot.",
        )
    database = Database(config)
    try:
        require_numbered_tokens(database)
        tables = chosen_tables(read_schemas(database), config)
        splits = [split for table in tables for split in _splits(table, estimate_of(database, table), config, size)]
    finally:
        database.close()
    done = [
        SourcePosition(split.partition, SplitProgress(split.upto, finished=True).offset)
        for table in tables
        for split in cut(table, config.table_splits)
    ]
    statements = [range_query(cut(table, 1)[0], 0).text for table in tables]
    return BulkPlan(splits, done, statements, [CHANGING])


def _splits(table: Table, estimate: Estimate | None, config: CassandraSourceConfig, size: SplitSize) -> list[BulkSplit]:
    if estimate is None:
        return [_split(number, split, 0, 0) for number, split in enumerate(cut(table, config.table_splits))]
    wanted = max(-(-estimate.partitions // size.rows), -(-estimate.size_bytes // size.size_bytes), 1)
    count = min(wanted, _MOST_SPLITS)
    rows, size_bytes = -(-estimate.partitions // count), -(-estimate.size_bytes // count)
    return [_split(number, split, rows, size_bytes) for number, split in enumerate(cut(table, count))]


def _split(number: int, split: Split, rows: int, size_bytes: int) -> BulkSplit:
    return BulkSplit(f"{split.table.id.hex}-{number}", split.partition, rows, size_bytes)


class CassandraBulkReader:
    """Reads splits of tables. Owned by one thread."""

    def __init__(self, config: CassandraSourceConfig) -> None:
        """Remember the settings without connecting."""
        self._config = config
        self._database = Database(config)
        self._asked = Database(asking(config))
        self._schemas: Schemas | None = None

    def read(self, split: BulkSplit, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """Yield the pages of a split as batches, each with the position behind it; the last batch may have no rows.

        `after` is the offset from which to go on; None to begin with the first row.
        """
        wanted = self._of(split)
        rows = page_rows([wanted.table], self._config, self._database)[wanted.table]
        size = PageSize(self._config.batch_max_rows, self._config.fetch_max_bytes)
        reader = SplitReader(self._database, wanted, progress_of(wanted, after), size, more=rows.more)
        while not reader.finished:
            page = reader.next(Deadline.after(_READ_S))
            if page is None:
                raise RetriableError(f"A page of {wanted.table.title} did not come within {_READ_S:g} s.")
            batch = rows.batch(wanted, page, Sweep(), is_last=reader.finished)
            if batch.position is not None:
                yield batch

    def count(self, split: BulkSplit) -> int:
        """Return the number of rows of a split, counted page by page: the server's COUNT meets its time limit."""
        if self._config.output != "rows" or self._config.written_since:
            # A row becomes several events, or none, so the batches themselves are counted.
            return sum(map(len, self.read(split, None)))
        wanted, rows, state = self._of(split), 0, None
        query = count_query(wanted)
        while True:
            page = self._database.ask(query, _COUNT_ROWS, state).page()
            rows, state = rows + page.rows, page.next
            if state is None:
                return rows

    @property
    def stamps_rows(self) -> bool:
        """Return True if rows differ when they are read later though nothing was written.

        Events may stand at the time of reading, and TTLs count down.
        """
        return self._config.output == "events" or self._config.write_times

    def find(self, topic: str, keys: Sequence[Any]) -> Iterator[Batch]:
        """Read rows by their primary keys; yield a batch for each row that exists. See `KeyedReader`."""
        return RowsByKey(self._asked, self._config, self._known).find(topic, keys)

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
        self._asked.close()

    @property
    def _known(self) -> Schemas:
        if self._schemas is None:
            self._schemas = read_schemas(self._database)
        return self._schemas

    def _of(self, split: BulkSplit) -> Split:
        bounds: Mapping[str, object] = split.bounds
        table = self._known.tables.get(UUID(str(bounds["table_id"])))
        after, upto = bounds["after"], bounds["upto"]
        if table is None:
            raise ConnectError(
                f"Table {bounds['keyspace']}.{bounds['table']} is not there any more, or was made anew.",
                fix="Cancel the backfill and plan another one.",
            )
        assert isinstance(after, int)
        assert isinstance(upto, int)
        return Split(table, after, upto)
