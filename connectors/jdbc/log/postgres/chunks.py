"""Reads one chunk of a table of PostgreSQL in a separate snapshot. Owned by the reading thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from connect.api.records import Batch
from connectors.jdbc.log.incremental.chunked_reading import Chunk, Mask, UnseenTransactionsError
from connectors.jdbc.log.incremental.progress import TableProgress
from connectors.jdbc.log.postgres.changes import ChangeEvents
from connectors.jdbc.log.postgres.delivered_transactions import MAYBE_REASON
from connectors.jdbc.log.postgres.segments import key_texts
from connectors.jdbc.log.postgres.snapshot import SnapshotRows, TableSnapshot
from connectors.jdbc.log.postgres.tables import LogTable, LogTables
from connectors.jdbc.log.shared.position import LogPosition
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRows

_UNPUBLISHED_REASON = "which may have written to it before it was published"


def oldest_of(seen: SnapshotVisibility) -> int:
    """Return the number of the oldest transaction that was open at a snapshot, or else of the next one."""
    return int(seen.snapshot.partition(":")[0])


@dataclass(frozen=True, slots=True)
class PostgresChunks:
    """Reads chunks in the order of the key. `position` is the place up to which the log was read.

    The log may lack what transactions with numbers below `published_at` have written: a table was published later.
    """

    snapshot: TableSnapshot
    tables: LogTables
    events: ChangeEvents
    position: Callable[[], LogPosition]
    published_at: int

    def chunk(self, name: TableName, progress: TableProgress, rows: int) -> Chunk[int] | None:
        """Return the next rows of a table, or None if it has no key.

        UnseenTransactionsError: a snapshot does not show all transactions yet that were read from the log.
        """
        # The condition is SQL from whoever may write signals, as in Debezium; it runs with the rights of the
        # connector's user.
        where = f" WHERE {progress.condition}"
        select = f"SELECT * FROM {name.quoted}{where}" if progress.condition else ""  # noqa: S608 - the condition is SQL of whoever may write signals
        delivered = self.events.delivered
        if delivered.older is None:
            delivered.older = self.snapshot.may_wait_for_standby()
        seen, clock_us = self.snapshot.begin(None)
        try:
            if unseen := delivered.unseen_in(seen.snapshot):
                raise UnseenTransactionsError(", ".join(map(str, unseen)))
            if maybe := delivered.maybe_unseen_in(seen.snapshot, self.snapshot.uncommitted):
                raise UnseenTransactionsError(", ".join(map(str, maybe)), MAYBE_REASON)
            if (oldest := oldest_of(seen)) < self.published_at:
                raise UnseenTransactionsError(str(oldest), _UNPUBLISHED_REASON)
            self.snapshot.hold(name)
            table = self.tables.plan(self.tables.describe(name))
            if not table.events.key:
                return None
            upto = progress.upto or self.snapshot.last_key(table, select)
            pages = list(self.snapshot.rows(table, progress.after, rows, select=select, at_most=rows)) if upto else []
        finally:
            self.snapshot.close()
        keys = [key for page in pages for key in key_texts(table, page.buffer, page.cells)]
        records = partial(self._records, table, pages, seen, clock_us)
        return Chunk(name.full, keys, upto, seen.lsn, records)

    def _records(
        self, table: LogTable, pages: Sequence[SnapshotRows], seen: SnapshotVisibility, clock_us: int, left: Mask
    ) -> Iterator[Batch | BadRows]:
        xid, at = oldest_of(seen), 0
        for page in pages:
            of_page = left[at : at + page.count]
            at += page.count
            if not of_page.any():
                continue
            some = page.take(of_page)
            marks = pa.repeat(pa.scalar("incremental"), some.count)
            here = self.position()
            batch, bad, _ = self.events.of_snapshot(table, replace(some, marks=marks), here, xid, clock_us)
            if bad is not None:
                yield bad
            if batch is not None:
                yield batch

    def positioned(self, batch: Batch) -> Batch:
        """Return the batch with the present position behind it."""
        return replace(batch, position=self.events.source_position(self.position()))
