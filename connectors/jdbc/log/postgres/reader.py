"""Reads PostgreSQL for mode=log: the tables once, then the log without a gap. Owned by the reading thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import sqlalchemy as sa

from connect.api.errors import ConnectError
from connect.api.records import Batch, SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.incremental.chunked_reading import ChunkedReading
from connectors.jdbc.log.incremental.progress import Progress, progress_of
from connectors.jdbc.log.incremental.signals import none_found
from connectors.jdbc.log.postgres import publication, slot_setup, timelines
from connectors.jdbc.log.postgres.changes import ChangeEvents
from connectors.jdbc.log.postgres.chunks import PostgresChunks
from connectors.jdbc.log.postgres.first_read import Page, TableEnd, marked
from connectors.jdbc.log.postgres.notes import TellsNotes
from connectors.jdbc.log.postgres.open_writers import published_at, wait_for_writers
from connectors.jdbc.log.postgres.pgoutput import LogState
from connectors.jdbc.log.postgres.segments import order_of
from connectors.jdbc.log.postgres.snapshot import TableSnapshot
from connectors.jdbc.log.postgres.stream import ReplicationStream
from connectors.jdbc.log.postgres.tables import LogTable, LogTables
from connectors.jdbc.log.postgres.text import SESSION
from connectors.jdbc.log.postgres.unlogged import without_log
from connectors.jdbc.log.shared.log_end import LogEnd
from connectors.jdbc.log.shared.position import (
    TIMELINE,
    LogPosition,
    SnapshotPlace,
    lsn_of_text,
    partition_of,
    read_offset,
    text_of_lsn,
)
from connectors.jdbc.log.shared.reading_options import PLAIN, ReadingOptions
from connectors.jdbc.log.shared.repeated_rows import of_key
from connectors.jdbc.log.shared.session import COLLECT_S, LogSession, Stored, resumed
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility, ahead_of
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRows

_log = logging.getLogger(__name__)
_WAIT_S = 0.1
_WATCH_S = 10.0
_NO_SNAPSHOT = {"no_data", "never"}


class PostgresLog:
    """Reads one server's tables and log for one connector.

    `position` is behind everything that `batches` gave.
    """

    def __init__(
        self,
        session: LogSession,
        stored: Stored,
        tables: Callable[[Database, JdbcSourceConfig], LogTables] = LogTables,
        options: ReadingOptions = PLAIN,
        notes: TellsNotes | None = None,
    ) -> None:
        """Connect to nothing. ConnectError: mode=log did not write the stored offset.

        `stored` returns the offset of a partition. `tables` makes the plans of tables, which decide how rows become
        records. `notes` makes records of applications' notes in the log, or is None if none are made.
        """
        self._session = session
        self._planning = tables
        self._options, self._notes = options, notes
        self._begins = session.config.snapshot_mode == "always"
        self._config = session.config
        self._database = session.database
        arguments = {**self._database.driver_arguments, **SESSION}
        self._stream = ReplicationStream(arguments, self._database.errors, session.stopping)
        self._snapshot = TableSnapshot(arguments, self._database.errors)
        self._watch_at_s = 0.0
        self._partitions: frozenset[TableName] = frozenset()
        self._warned = False
        self._published_at = 0
        offset = stored(partition_of(session.config.topic_prefix))
        self.position = resumed(offset, read_offset)
        self._progress, self._is_unstored = resumed(offset, progress_of) or Progress(), False
        self._stored_lsns: dict[int, int] = {}
        """The LSN up to which everything is stored in Kafka, by the timeline that counts it. The task thread writes it.
        """
        self.retained_bytes = 0
        self.end = LogEnd(
            lambda: slot_setup.end_of_log(self._database),
            lambda lsn: max(0, slot_setup.end_of_log(self._database) - lsn),
        )

    def batches(self) -> Iterator[Batch | BadRows | None]:
        """Yield batches in order, and bad rows before the batch that follows them.

        None is yielded when there is nothing now, so that the caller can do other work.
        """
        config = self._config
        self._session.look_at_tables()
        if aside := without_log(self._database, config, self._session.tables):
            self._session.leave_aside(aside)
        self._session.leave_unreadable_aside(is_read=self._is_read)
        signals = () if self._options.signal_table is None else (self._options.signal_table,)
        published = [*dict.fromkeys((*self._session.tables, *signals))]
        goes_on = self.position is not None and not self._begins
        is_changed = publication.ensure_publication(self._database, config, published, goes_on=goes_on)
        self._published_at = published_at(self._database, config.publication_name, is_changed=is_changed)
        publication.warn_of_what_is_not_published(self._database, config, self._session.tables)
        self._partitions |= publication.partitions_among(self._database, self._session.tables)
        name = str(self._database.scalar(sa.text("SELECT current_database()"), "asking for the database's name"))
        self._database.end_transaction()
        tables = self._planning(self._database, config)
        events = ChangeEvents(tables, config, name, self._session.chooses, self._options, notes=self._notes)
        events.chunked = chunked = ChunkedReading(
            PostgresChunks(self._snapshot, tables, events, self._here, self._published_at),
            lambda: self._session.tables,
            progress=self._progress,
            chunk_rows=self._options.chunk_rows,
            found=self._options.signals or none_found,
            is_unstored=self._is_unstored,
        )
        exported = self._place()
        assert self.position is not None
        if self.position.snapshot is not None:
            yield from self._tables(tables, events, exported)
        while config.snapshot_mode == "initial_only":
            yield None
        asks_notes = self._notes is not None and slot_setup.tells_notes(self._database)
        begin = text_of_lsn(self.position.commit_lsn)
        self._stream.start(config.slot_name, begin, config.publication_name, notes=asks_notes)
        try:
            yield from self._log(events, chunked)
        finally:
            # If the connection breaks, reading goes on behind the batches that were given.
            self._progress, self._is_unstored = chunked.progress, chunked.is_unstored

    def _is_read(self, table: TableName) -> bool:
        """Tell if the first read of a table is over, so that its log alone is read, for which no right is needed."""
        if self._begins or self.position is None:
            return False
        return self.position.snapshot is None or table.full in self.position.snapshot.done

    def _here(self) -> LogPosition:
        assert self.position is not None
        return self.position

    def _place(self) -> str | None:
        """Find or make the slot, and set the position to go on from. Return the snapshot's name if the slot is new."""
        if self._begins:
            # If the connection breaks later, reading goes on at the place that this read has reached.
            self._begins, self.position = False, None
        config, position = self._config, self.position
        slot = slot_setup.look_at_slot(self._database, config.slot_name)
        broken = None
        if slot is not None:
            try:
                slot_setup.require_whole(slot, config.slot_name, self._database)
            except ConnectError as error:
                broken = error
        timeline, here = self._stream.timeline(), position
        if position is not None and slot is not None and broken is None:
            here = self._on_timeline(position, timeline, slot.confirmed_lsn)
        if position is not None and here is not None and broken is None:
            end_lsn = slot_setup.end_of_log(self._database)
            broken = _gap(slot, position, here.commit_lsn, config.slot_name, end_lsn)
        if broken is not None:
            if config.snapshot_mode != "when_needed":
                raise broken
            _log.warning("Reading all tables anew: %s", broken.message)
            slot_setup.drop_slot(self._database, config.slot_name)
            self._session.begin_anew()
            slot = here = None
        if here is not None:
            self.position = here
            return None
        exported = None
        if slot is None:
            made = self._stream.create_slot(
                config.slot_name, failover=slot_setup.makes_failover_slot(self._database, config)
            )
            lsn, exported = lsn_of_text(made.lsn_text), made.snapshot
        else:
            lsn = self._begun_at(slot)
        snapshot = None if config.snapshot_mode in _NO_SNAPSHOT else SnapshotPlace()
        self.position = LogPosition(lsn, snapshot=snapshot, timeline=timeline)
        return exported

    def _begun_at(self, slot: slot_setup.Slot) -> int:
        """Return where the log of a slot begins that was there before, once its tables may be read.

        RetriableError: the task is to stop.
        """
        if self._config.snapshot_mode not in _NO_SNAPSHOT:
            # The slot may be older than the publication, or than a table's place in it.
            stopping, name = self._session.stopping, self._config.publication_name
            wait_for_writers(self._database, name, self._published_at, lambda time_s: not stopping.wait(time_s))
        return slot.confirmed_lsn

    def _on_timeline(self, position: LogPosition, timeline: int, slot_lsn: int) -> LogPosition:
        """Return the place to go on from on the server's timeline, and tell of what it does not hold."""
        if position.timeline in {0, timeline}:
            return replace(position, timeline=timeline)
        fork_lsn = timelines.fork_of(self._stream.timeline_history(timeline), position.timeline)
        text = None
        if fork_lsn is None:
            text = timelines.told_stranger(position, timeline)
        elif timelines.furthest_lsn(position) > fork_lsn:
            text = timelines.told_fork(position, timeline, fork_lsn, slot_lsn)
            position = timelines.back_at(position, fork_lsn)
        if text is not None:
            _log.warning("%s", text)
            self._session.tell_missing(text)
        return replace(position, timeline=timeline)

    def _tables(
        self, tables: LogTables, events: ChangeEvents, exported: str | None
    ) -> Iterator[Batch | BadRows | None]:
        """Yield the rows of the tables.

        After a break the read goes on behind the last row, in a new snapshot. The position tells which rows were read
        in which snapshot: a change between two snapshots is sent if its row was read before the change.
        """
        assert self.position is not None
        assert self.position.snapshot is not None
        seen, clock_us = self._snapshot.begin(exported)
        xid = int(seen.snapshot.partition(":")[0])
        place = self.position.snapshot
        # The log begins behind the snapshot that the slot exported, so that this snapshot holds no change of the log.
        planned: dict[str, LogTable] = {}
        pages = self._pages(tables, place, None if exported else seen)
        for page, ends in marked(pages, is_first=not place.done):
            if page is not None:
                name = page.table.name.full
                place = replace(place, table=name, key=page.rows.last_key)
                table = planned.get(name, page.table)
                batch, bad, planned[name] = events.of_snapshot(table, page.rows, self.position, xid, clock_us)
                if bad is not None:
                    yield bad
                # The new fence is used from the first rows on. Until then the place in the position belongs to the
                # order of the last fence.
                fences = {**self.position.fences, name: page.fence}
                self.position = replace(self.position, snapshot=place, fences=fences)
                if batch is not None:
                    yield replace(batch, position=events.source_position(self.position))
                    self._session.pace(len(batch))
            for end in ends:
                place = SnapshotPlace((*place.done, end.table.name.full))
                fences = {**self.position.fences, end.table.name.full: end.fence}
                self.position = replace(self.position, snapshot=place, fences=ahead_of(fences, 0))
        self._snapshot.close()
        self._session.end_tables()
        self.position = replace(self.position, snapshot=None)
        yield replace(self._session.heartbeat.nothing(), position=events.source_position(self.position))

    def _pages(
        self, tables: LogTables, begun: SnapshotPlace, seen: SnapshotVisibility | None
    ) -> Iterator[Page | TableEnd]:
        """Yield the rows that are not delivered yet.

        `seen` describes the present snapshot, or None if the log begins behind it.
        """
        assert self.position is not None
        for name in begun.tables_left(self._session.tables):
            if not self._options.reads_first(name):
                continue
            self._snapshot.hold(name)
            table = tables.plan(tables.describe(name))
            self._session.begin_table(of_key(name, table.events.key, self._config.max_batch_size))
            last = begun.key if begun.table == name.full else ()
            fence = self.position.fence_of(name.full).goes_on(order_of(table), last, seen)
            after = last if fence.bounds else ()
            is_first = not after
            select = self._options.selects.get(name.full, "")
            for rows in self._snapshot.rows(table, after, self._session.page_rows, select=select):
                yield Page(table, rows, fence, is_first)
                is_first = False
            yield TableEnd(table, fence)

    def _log(self, events: ChangeEvents, chunked: ChunkedReading[int]) -> Iterator[Batch | BadRows | None]:
        assert self.position is not None
        state = LogState(commit_end_lsn=self.position.commit_lsn)
        spent_s = 0.0
        while True:
            self.tend()
            messages = self._stream.read(self._config.max_batch_size, _WAIT_S, min(spent_s, COLLECT_S))
            begun_s = time.monotonic()
            if len(messages):
                for batch, position in events.of_log(messages, state, self.position):
                    self.position = position
                    if batch is not None:
                        yield batch
                spent_s = time.monotonic() - begun_s
            elif not state.is_open and self._stream.server_end > self.position.commit_lsn:
                # The server has read its log up to here and found nothing for us, so it need not keep that part.
                state.commit_end_lsn = self._stream.server_end
                self.position = self.position.moved(self._stream.server_end)
            if not len(messages) and not state.is_open:
                self.end.look(self.position.commit_lsn)
            else:
                self.end.measure(self.position.commit_lsn)
            yield from chunked.step(self.position.commit_lsn)
            beat = self._session.beat(self.position.commit_lsn, self._options.heartbeat_query)
            if chunked.is_unstored:
                beat, chunked.is_unstored = beat or self._session.heartbeat.nothing(), False
            if beat is not None:
                yield replace(beat, position=events.source_position(self.position))
            yield None

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Take note that everything before these positions is stored in Kafka. For the task thread."""
        for offset in (p.offset for p in positions if p.offset is not None and not p.offset.get("snapshot")):
            timeline, lsn = offset.get(TIMELINE, 0), offset.get("lsn_commit")
            if isinstance(timeline, int) and isinstance(lsn, int):
                self._stored_lsns[timeline] = max(self._stored_lsns.get(timeline, 0), lsn)

    def tend(self) -> None:
        """Answer the server, and check slot and publication from time to time, also while nobody takes batches.

        ConnectError: changes of a table are not published any more.
        """
        if self.position is None or self.position.snapshot is not None:
            return
        stored_lsn = self._stored_lsns.get(self.position.timeline, 0) if self._options.moves_slot else 0
        self._stream.confirm(stored_lsn, self._config.status_update_interval_ms / 1000)
        now_s = time.monotonic()
        if now_s < self._watch_at_s:
            return
        self._watch_at_s = now_s + _WATCH_S
        self._look_at_publication()
        slot = slot_setup.look_at_slot(self._database, self._config.slot_name)
        self.retained_bytes = 0 if slot is None else slot.retained_bytes
        too_much = self.retained_bytes > self._config.slot_warn_bytes
        if too_much and not self._warned:
            _log.warning(
                "Slot %s holds back %d MiB of the server's log: its disk may fill. See that the connector keeps up.",
                self._config.slot_name,
                self.retained_bytes >> 20,
            )
        self._warned = too_much

    def _look_at_publication(self) -> None:
        left = publication.require_published(self._database, self._config, self._session.tables, self._partitions)
        for table, why in left.items():
            _log.warning("Table %s %s", table.full, why)
            if why == publication.DETACHED:
                # One of them is told, as archiving may detach one each day.
                self._session.advise(f"Table {table.full} {why}")
        self._session.tables = [table for table in self._session.tables if table not in left]

    def interrupt(self) -> None:
        """Break off a running statement. For any thread."""
        self._snapshot.interrupt()
        self._database.interrupt()

    def close(self) -> None:
        """Close the connections. The slot stays, unless slot.drop.on.stop says otherwise."""
        self._snapshot.close()
        self._stream.close()
        if self._config.slot_drop_on_stop and self._session.stopping.is_set():
            slot_setup.drop_slot(self._database, self._config.slot_name)
        self._database.close()


def _gap(
    slot: slot_setup.Slot | None, position: LogPosition, begin_lsn: int, name: str, end_lsn: int
) -> ConnectError | None:
    """Return the error if changes behind a stored position are missing, where reading goes on at `begin_lsn`."""
    fix = (
        "Reset the connector's offsets (and drop the slot), so that the tables are read anew, or set "
        "snapshot.mode=when_needed."
    )
    if slot is None:
        return ConnectError(
            f"Slot {name} is gone, and with it the changes since {text_of_lsn(position.commit_lsn)}.",
            key="slot.name",
            fix=fix,
        )
    if begin_lsn > end_lsn:
        # The server would send nothing from before this LSN, so that changes made until then would be lost.
        return ConnectError(
            f"The stored offset {text_of_lsn(position.commit_lsn)} is ahead of the server's log, which ends at "
            f"{text_of_lsn(end_lsn)}: it is of another server, or this one was set back.",
            key="connection.url",
            fix=fix,
        )
    if slot.confirmed_lsn > position.commit_lsn:
        return ConnectError(
            f"Slot {name} begins at {text_of_lsn(slot.confirmed_lsn)}, behind the connector's place "
            f"{text_of_lsn(position.commit_lsn)}: somebody made it anew or read it, and changes are missing.",
            key="slot.name",
            fix=fix,
        )
    return None
