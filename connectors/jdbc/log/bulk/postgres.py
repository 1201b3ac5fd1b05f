"""Reads tables of PostgreSQL in bulk under mode=log: a slot keeps the log, and each split is read in a snapshot by
COPY.

Owned by one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.open_sessions import those_of, told_wait
from connectors.jdbc.log.bulk.log_bulk import Keyed, Rows, Shared, behind
from connectors.jdbc.log.postgres import publication, slot_setup
from connectors.jdbc.log.postgres.changes import ChangeEvents
from connectors.jdbc.log.postgres.open_writers import next_transaction, wait_for_writers
from connectors.jdbc.log.postgres.segments import order_of
from connectors.jdbc.log.postgres.snapshot import LATER, TableSnapshot, WrittenAnewError
from connectors.jdbc.log.postgres.stream import ReplicationStream
from connectors.jdbc.log.postgres.tables import LogTables
from connectors.jdbc.log.postgres.text import SESSION
from connectors.jdbc.log.postgres.unlogged import without_log
from connectors.jdbc.log.shared.heartbeat import Heartbeat
from connectors.jdbc.log.shared.position import LogPosition, SnapshotPlace, lsn_of_text, partition_of, read_offset
from connectors.jdbc.log.shared.snapshot_segments import Fence, Key, KeyRange
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import Raw


class PostgresBulk:
    """Reads the tables of one PostgreSQL server. Implements LoggedServer."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connect to nothing."""
        self._config = config
        self.database = Database(config, waits=True)
        self._arguments = {**self.database.driver_arguments, **SESSION}
        self._tables = LogTables(self.database, config)
        self._snapshot = TableSnapshot(self._arguments, self.database.errors)
        self._name = ""
        self.counted: int | None = None

    @property
    def keeps(self) -> str:
        """Say that the server keeps its log for the replication slot."""
        return (
            f"slot {self._config.slot_name} is made when the job begins, and keeps the server's log until the "
            "connector has read it; whoever cancels the job has to drop it"
        )

    def keyed(self, table: TableName) -> Keyed:
        """Return the table's columns, and the column by which the log names rows if it is one whole number."""
        planned = self._tables.plan(self._tables.describe(table))
        whole = [plan.name for plan in planned.format.columns if plan.raw is Raw.INTEGER]
        key = planned.events.key
        return Keyed(planned.format.columns, key[0] if len(key) == 1 and key[0] in whole else None)

    def begin(self, tables: Sequence[TableName], deadline: Deadline) -> list[SourcePosition]:
        """Make publication and slot, or take the slot that is there.

        RetriableError: transactions that were open have not ended by the deadline. ConnectError: somebody reads the
        slot.
        """
        if aside := without_log(self.database, self._config, tables):
            reasons = " ".join(f"{table.full}: {reason}" for table, reason in aside.items())
            raise ConnectError(f"Tables have no log to follow. {reasons}", key="table.whitelist")
        publication.ensure_publication(self.database, self._config, tables)
        name = self._config.slot_name
        slot = slot_setup.look_at_slot(self.database, name)
        if slot is None:
            return self._begun(self._made(name, deadline))
        slot_setup.require_whole(slot, name, self.database)
        if slot.is_active:
            raise ConnectError(
                f"Slot {name} is read by somebody, who moves it on.",
                key="slot.name",
                fix="Stop the connector that reads it, or name another slot.",
            )
        # Nothing tells if this call or an earlier one, which then failed, added tables to the publication.
        wait_for_writers(self.database, self._config.publication_name, next_transaction(self.database), deadline.wait)
        return self._begun(slot.confirmed_lsn)

    def _begun(self, lsn: int) -> list[SourcePosition]:
        return [SourcePosition(partition_of(self._config.topic_prefix), LogPosition(lsn).offset())]

    def cost_of_holding(self) -> str:
        """Say that vacuum waits while a snapshot is held."""
        return (
            "One snapshot is held until all chunks are read: meanwhile vacuum removes no version of a row that was "
            "changed or deleted since it began, in any table, so tables that are written to grow. It ends with the "
            "job's driver; a job that goes on then reads each chunk that is left in a snapshot of its own"
        )

    def hold(self) -> Shared:
        """Return the snapshot's name, and an LSN behind all that is visible in it."""
        seen, _ = self._snapshot.begin(None)
        return [self._snapshot.export(), seen.lsn]

    def read(self, table: TableName, keys: KeyRange, after: Mapping[str, Any] | None, shared: Shared | None) -> Rows:
        """Read the rows of a table by COPY, as the connector's own first read does."""
        before = None if after is None else read_offset(after)
        slot = slot_setup.look_at_slot(self.database, self._config.slot_name)
        name, lsn = shared or (None, None)
        seen, clock_us = self._snapshot.begin(name)
        # All readers of a snapshot describe it by the same values, so that an offset holds it once.
        seen = replace(seen, lsn=lsn or seen.lsn)
        try:
            self._hold(table, name)
            planned = self._tables.plan(self._tables.describe(table))
            last = () if before is None or before.snapshot is None else before.snapshot.key
            fence = Fence() if before is None else before.fence_of(table.full)
            fence = fence.goes_on_within(order_of(planned), last, seen, table.full)
            self.counted = self._snapshot.count(planned, last, keys)
            # No change that follows has a place before that of the slot.
            place = seen.lsn if slot is None else slot.confirmed_lsn
            here = LogPosition(place, snapshot=SnapshotPlace((), table.full, last), fences={table.full: fence})
            events = ChangeEvents(self._tables, self._config, self._database_name(), lambda _: True)
            xid = int(seen.snapshot.partition(":")[0])
            for rows in self._snapshot.rows(planned, last, self._config.paced(self._config.max_batch_size), keys):
                is_place, last = rows.last_key != last, rows.last_key
                here = replace(here, snapshot=SnapshotPlace((), table.full, rows.last_key))
                batch, bad, planned = events.of_snapshot(planned, rows, here, xid, clock_us)
                if bad is not None:
                    yield bad
                if batch is not None:
                    yield replace(batch, position=behind(events.source_position(here), is_place=is_place))
            yield replace(Heartbeat(self._config).nothing(), position=events.source_position(here))
        finally:
            self._snapshot.close()

    def position(self, offset: Mapping[str, Any]) -> LogPosition:
        """Return the position of an offset as the connector reads it."""
        return read_offset(offset)

    def last_key(self, offset: Mapping[str, Any]) -> Key:
        """Return the key of the last row that was read."""
        snapshot = read_offset(offset).snapshot
        return () if snapshot is None else snapshot.key

    def close(self) -> None:
        """Close the connection. The slot stays on the server."""
        self._snapshot.close()
        self.database.close()

    def _hold(self, table: TableName, shared: str | None) -> None:
        try:
            self._snapshot.hold(table)
        except WrittenAnewError as error:
            if shared is None:
                raise
            raise ConnectError(f"Table {table.full} was written anew since snapshot {shared}.", fix=LATER) from error

    def _database_name(self) -> str:
        if not self._name:
            self._name = str(
                self.database.scalar(sa.text("SELECT current_database()"), "asking for the database's name")
            )
            self.database.end_transaction()
        return self._name

    def _made(self, name: str, deadline: Deadline) -> int:
        """Make the slot; return the LSN where its log begins. The server waits for the transactions that are open."""
        failover = slot_setup.makes_failover_slot(self.database, self._config)
        late = threading.Event()
        timer = threading.Timer(deadline.remaining_s, late.set)
        timer.start()
        stream = ReplicationStream(self._arguments, self.database.errors, late)
        what = f"Slot {name} is not made yet"
        try:
            with told_wait(what, lambda: Database(self._config, waits=True)):
                return lsn_of_text(stream.create_slot(name, failover=failover).lsn_text)
        except RetriableError as error:
            if not late.is_set():
                raise
            raise RetriableError(
                f"{what}: it waits for {those_of(self.database)}.", fix="End them, or wait longer by handover.settle."
            ) from error
        finally:
            timer.cancel()
            stream.close()
