"""Reads MariaDB or MySQL for mode=log: the tables once, then the binary log without a gap.

Owned by the reading thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from connect.api.errors import ConfigProblem, RetriableError
from connect.api.records import Batch, SourcePosition
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.follow.blind_spots import CutOffs
from connectors.jdbc.log.binlog.packets import INCIDENT, incident
from connectors.jdbc.log.binlog.position import BinlogPosition, Place, SnapshotEnd, read_binlog_offset
from connectors.jdbc.log.ddl.logged_statements import SILENT, StatementTeller
from connectors.jdbc.log.incremental.chunked_reading import ChunkedReading
from connectors.jdbc.log.incremental.progress import Progress, progress_of
from connectors.jdbc.log.incremental.signals import none_found
from connectors.jdbc.log.mysql.binlog_events import BinlogEvents
from connectors.jdbc.log.mysql.binlog_records import SERVER, BinlogRecords
from connectors.jdbc.log.mysql.catalog import is_hidden, without_log
from connectors.jdbc.log.mysql.chunks import MySqlChunks
from connectors.jdbc.log.mysql.first_read import FirstRead, marked
from connectors.jdbc.log.mysql.flavour import flavour_of
from connectors.jdbc.log.mysql.history import MySqlHistory, metadata_note, metadata_of
from connectors.jdbc.log.mysql.schema_history import history_partition
from connectors.jdbc.log.mysql.segments import SegmentFilter
from connectors.jdbc.log.mysql.snapshot import (
    begin_first_snapshot,
    few_of,
    log_begin,
    log_bytes_after,
    log_end,
    prepared_transactions,
    server_uuid,
)
from connectors.jdbc.log.mysql.stream import BinlogStream, PositionLostError
from connectors.jdbc.log.mysql.tables import BinlogTable, BinlogTables
from connectors.jdbc.log.shared.log_end import LogEnd
from connectors.jdbc.log.shared.position import partition_of
from connectors.jdbc.log.shared.reading_options import PLAIN, ReadingOptions
from connectors.jdbc.log.shared.session import COLLECT_S, LogSession, Stored, resumed
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, like
from connectors.jdbc.values.unconvertible_rows import BadRows

TablesOf = Callable[[Database, JdbcSourceConfig, str], BinlogTables]
TellerOf = Callable[[Database], StatementTeller]
_log = logging.getLogger(__name__)
_WAIT_S = 0.1
_PREPARED_S = 60.0
_NO_SNAPSHOT = {"no_data", "never"}
_SETTINGS = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_value_options": ""}


def problems(database: Database) -> Iterator[ConfigProblem]:
    """Yield what keeps the log from being read, each with its fix."""
    names = ", ".join(f"'{name}'" for name in _SETTINGS)
    rows = database.rows(
        sa.text(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"),
        "asking for settings",
    )
    found = {str(row[0]).lower(): str(row[1]).upper() for row in rows}
    for name, wanted in _SETTINGS.items():
        if found.get(name, wanted) != wanted:
            yield ConfigProblem(
                "mode",
                f"mode=log needs {name}={wanted or '(empty)'}, and the server has {found[name] or '(empty)'}: set it "
                "and restart the server.",
            )


class MySqlLog:
    """Reads one server's tables and log for one connector.

    `position` is behind everything that `batches` gave.
    """

    retained_bytes = 0

    def __init__(
        self,
        session: LogSession,
        stored: Stored,
        tables: TablesOf = BinlogTables,
        options: ReadingOptions = PLAIN,
        teller: TellerOf = lambda _: SILENT,
    ) -> None:
        """Connect to nothing. ConnectError: mode=log did not write the stored offset.

        `stored` returns the offset of a partition. `tables` makes the plans of tables, which decide how rows become
        records. `teller` makes the object that makes records of statements.
        """
        self._tables_of, self._records = tables, BinlogRecords(session.config, options)
        self._teller_of = teller
        self._options = options
        self._session = session
        self._config = session.config
        self._database = session.database
        self._stream = BinlogStream(self._database.driver_arguments, self._database.errors, session.stopping)
        self._cuts = CutOffs(session.config)
        prefix = session.config.topic_prefix
        offset = stored(partition_of(prefix))
        self.position = resumed(offset, read_binlog_offset)
        self._progress, self._is_unstored = resumed(offset, progress_of) or Progress(), False
        self._server_uuid = str((offset or {}).get(SERVER) or "")
        self._stored_number = 0 if self.position is None else self.position.history
        history = stored(history_partition(prefix))
        self._history = MySqlHistory(
            self._database, self._follows, session.stopping, history, number=self._stored_number
        )
        self._begins = session.config.snapshot_mode == "always"
        self.end = LogEnd(self._ask_for_end, lambda here: log_bytes_after(self._database, here))

    def batches(self) -> Iterator[Batch | BadRows | None]:
        """Yield batches in order, and bad rows before the batch that follows them.

        None is yielded when there is nothing now, so that the caller can do other work.
        """
        while True:
            try:
                yield from self._batches()
            except PositionLostError as error:
                if self._config.snapshot_mode != "when_needed":
                    raise
                _log.warning("Reading all tables anew: %s", error.message)
                self._stream.close()
                self._session.begin_anew()
                self.position = None

    def _batches(self) -> Iterator[Batch | BadRows | None]:
        database, config = self._database, self._config
        if self._begins:
            # If the connection breaks later, reading goes on at the place that this read has reached.
            self._begins, self.position = False, None
        if self.position is None and self._options.reads_whole_log:
            self.position = log_begin(database)
        self._look_at_tables()
        mariadb, flavour = database.is_mariadb, flavour_of(database)
        database.end_transaction()
        metadata = metadata_of(database)
        self._session.advise(metadata_note(metadata))
        self._look_at_server(server_uuid(database))
        begun = None
        if self.position is not None:
            self._history.rewind(self.position.history)
        elif metadata != "FULL":
            signals = () if self._options.signal_table is None else (self._options.signal_table,)
            begun = self._history.begin([*dict.fromkeys((*self._session.tables, *signals))])
        plans, statements = self._tables_of(database, config, flavour.connector), self._teller_of(database)
        tables = {name: plans.plan(name) for name in self._session.tables}
        for name, table in tables.items():
            self._cuts.tell(name, table.format.columns)
        if self.position is None or self.position.snapshot_done is not None:
            yield from self._prepared_ended()
            here, prepared = begin_first_snapshot(database)
            self._tell_prepared(prepared)
            if begun is not None:
                self._history.follow_to(begun, Place(here.file, here.pos))
                here = replace(here, history=self._history.number)
                yield self._unsaved()
            yield from self._tables(tables, here, statements)
        while config.snapshot_mode == "initial_only":
            yield None
        assert self.position is not None
        events = BinlogEvents(
            self._records,
            flavour,
            self.position,
            tables=tables,
            plan=plans.plan,
            plan_told=plans.plan_told,
            history=self._history,
            shown=SegmentFilter(database).shown,
            chosen=self._chooses,
            signal_table=self._options.signal_table,
            statements=statements,
        )
        self._records.chunked = chunked = self._chunked(plans, events)
        self._stream.start(self.position, mariadb=mariadb)
        try:
            yield from self._log(events, chunked)
        finally:
            # If the connection breaks, reading goes on behind the batches that were given.
            self._progress, self._is_unstored = chunked.progress, chunked.is_unstored

    def _look_at_tables(self) -> None:
        """Leave out tables that are gone or cannot be followed. RetriableError: the changes of one would be lost."""
        database, session = self._database, self._session
        session.look_at_tables(lambda table: is_hidden(database, table, self._config))
        if aside := without_log(database, session.tables):
            session.leave_aside(aside)
        if closed := session.leave_unreadable_aside(is_read=self._is_read):
            # The columns of their rows in the log cannot be asked for now.
            raise RetriableError(
                f"The user may not read {', '.join(table.full for table in closed)} any more, whose changes would be "
                "lost: grant SELECT, or restart the task, which leaves them aside."
            )

    def _look_at_server(self, uuid: str) -> None:
        """Tell of a server that is not the one whose files the place counts. PositionLostError: read all anew then."""
        before, self._server_uuid = self._server_uuid, uuid
        self._records.read_from(uuid)
        if self.position is None or self.position.gtids or before in {"", uuid}:
            return
        text = (
            f"The server's UUID is {uuid}, and the place {self.position.file}:{self.position.pos} is of {before}: "
            "another server has other changes there, unless its log was copied. Name the server that was read before, "
            "or reset the connector's offsets, so that the tables are read anew; with gtid_mode=ON servers may change."
        )
        if self._config.snapshot_mode == "when_needed":
            raise PositionLostError(text)
        _log.warning("%s", text)
        self._session.tell_missing(text)
        self._records.read_from(uuid, before, self.position)

    def _prepared_ended(self) -> Iterator[None]:
        """Yield until no XA transaction is prepared, for some time at most.

        The log has their rows where they were prepared, and tables show them once they are committed.
        """
        until_s = time.monotonic() + _PREPARED_S
        told: list[str] = []
        while (found := prepared_transactions(self._database)) and time.monotonic() < until_s:
            self._database.end_transaction()
            if found != told:
                self._session.begin_table(
                    f"The first read waits for XA transactions that are prepared: {few_of(found)}. Commit them or "
                    f"roll them back; it begins without their rows after {_PREPARED_S:g} s."
                )
                told = found
            yield None
            self._session.stopping.wait(_WAIT_S)

    def _tell_prepared(self, found: Sequence[str]) -> None:
        if not found:
            return
        text = (
            f"XA transactions were prepared when the read of the tables began: {few_of(found)}. If they are "
            "committed, rows that they changed keep their old state in the topics, and new ones are missing: roll them "
            "back, or commit them and reset the connector's offsets, so that the tables are read anew."
        )
        _log.warning("%s", text)
        self._session.tell_missing(text)

    def _chunked(self, plans: BinlogTables, events: BinlogEvents) -> ChunkedReading[tuple[int, int]]:
        chunks = MySqlChunks(
            self._database,
            plans.plan,
            self._records,
            self._here,
            events.executed,
            lambda: events.changed_to,
            self._config.quotes_identifiers,
        )
        return ChunkedReading(
            chunks,
            lambda: self._session.tables,
            progress=self._progress,
            chunk_rows=self._options.chunk_rows,
            found=self._options.signals or none_found,
            is_unstored=self._is_unstored,
        )

    def _is_read(self, table: TableName) -> bool:
        done = None if self.position is None else self.position.snapshot_done
        return self.position is not None and (done is None or table.full in done)

    def _here(self) -> BinlogPosition:
        assert self.position is not None
        return self.position

    def _follows(self, name: TableName) -> bool:
        return name == self._options.signal_table or self._chooses(name)

    def _unsaved(self) -> Batch | None:
        """Return a batch that stores the history, if it has changed. Positions that hold its number come behind the
        batch.
        """
        offset = self._history.unsaved_offset
        if offset is None:
            return None
        position = SourcePosition(history_partition(self._config.topic_prefix), offset)
        return replace(self._session.heartbeat.nothing(), position=position)

    def _chooses(self, name: TableName) -> bool:
        # The log has the changes of all databases. The table filter is for one database, unless tables of more are
        # listed.
        if name in self._session.tables:
            return True
        pattern, schema = self._config.catalog_pattern, name.schema or ""
        of_listed = schema == self._database.schema_of_connection if pattern is None else bool(like(pattern, [schema]))
        return of_listed and self._session.chooses(name)

    def _tables(
        self, tables: Mapping[TableName, BinlogTable], here: BinlogPosition, statements: StatementTeller
    ) -> Iterator[Batch | BadRows | None]:
        """Yield the rows of the tables, in a snapshot that begins `here`.

        After a break the read goes on behind the last row. The position tells which rows were read in which snapshot: a
        change between two snapshots is sent if its row was read before the change.
        """
        # The log begins behind the first snapshot, so that this snapshot holds no change of the log.
        seen = None if self.position is None else SnapshotEnd(here.file, here.pos, here.gtids)
        is_first = self.position is None
        if self.position is None:
            first: tuple[str, ...] | None = None if self._config.snapshot_mode in _NO_SNAPSHOT else ()
            self.position = replace(here, snapshot_done=first)
            if (told := statements.of_snapshot(here)) is not None:
                yield replace(told, position=self._records.position(self.position))
        records = self._records
        ms = time.time_ns() // 1_000_000
        read = FirstRead(self._session, tables, self.position, seen, self._options)
        for page in marked(read.pages(), is_first=is_first):
            if page.bad:
                yield records.bad_rows(page.table, page.bad, self.position)
            self.position = page.position
            batch = records.of_snapshot(page.table, page.values, page.position, ms, page.marks)
            if batch is not None:
                yield replace(batch, position=records.position(page.position))
                self._session.pace(len(batch))
        self._database.end_transaction()
        self._session.end_tables()
        self.position = replace(read.position, snapshot_done=None)
        yield replace(self._session.heartbeat.nothing(), position=records.position(self.position))

    def _log(self, events: BinlogEvents, chunked: ChunkedReading[tuple[int, int]]) -> Iterator[Batch | BadRows | None]:
        limit = self._config.max_batch_size
        spent_s = 0.0
        while True:
            waits_s = [min(spent_s, COLLECT_S)]
            event = self._stream.next(_WAIT_S)
            begun_s = time.monotonic()
            if event is None:
                self.end.look(events.read_to.order)
                self._history.at_end(events.read_to)
            else:
                self.end.measure(events.read_to.order)
            while event is not None:
                if event.kind == INCIDENT:
                    self._tell_incident(incident(event), events.read_to)
                events.take(event)
                event = None if events.has(limit) else self._stream.next(0.0)
                if event is None and waits_s and not events.has(limit):
                    # The server sends events one by one, and the thread need not wake up for each.
                    self._session.stopping.wait(waits_s.pop())
                    begun_s = time.monotonic()
                    event = self._stream.next(0.0)
            self._history.forget_before(self._stored_number)
            yield self._unsaved()
            for batch in events.batches(limit):
                self.position = events.position
                yield batch
            self.position = events.position
            spent_s = time.monotonic() - begun_s
            yield from chunked.step(events.read_to.order)
            beat = self._session.beat((self.position.file, self.position.pos), self._options.heartbeat_query)
            if chunked.is_unstored:
                beat, chunked.is_unstored = beat or self._session.heartbeat.nothing(), False
            if beat is not None:
                yield replace(beat, position=self._records.position(self.position))
            yield None

    def _tell_incident(self, said: str, at: Place) -> None:
        """Tell of events that the server has lost. PositionLostError: the tables are to be read anew then."""
        text = (
            f"The server has lost events of its log ({said or 'it does not say which'}) behind {at.file}:{at.pos}: "
            "changes are missing. Reset the connector's offsets, so that the tables are read anew."
        )
        if self._config.snapshot_mode == "when_needed":
            raise PositionLostError(text)
        _log.error("%s", text)
        self._session.tell_missing(text)

    def _ask_for_end(self) -> tuple[int, int]:
        return Place(*log_end(self._database)).order

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Take note that these positions are stored. Called on the task thread."""
        numbers = [(position.offset or {}).get("history") for position in positions]
        self._stored_number = max([self._stored_number, *(n for n in numbers if isinstance(n, int))])

    def tend(self) -> None:
        """Do nothing: the server does not wait for its readers."""

    def interrupt(self) -> None:
        """Break off a running statement. For any thread."""
        self._database.interrupt()

    def close(self) -> None:
        """Close the connections to the server."""
        self._stream.close()
        self._database.close()
