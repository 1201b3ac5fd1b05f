"""Makes records from rows of a binary log or of a first read. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from connect import __version__
from connect.api.errors import SchemaError
from connect.api.records import Batch, SourcePosition
from connectors.jdbc.log.binlog.position import BinlogPosition
from connectors.jdbc.log.incremental.chunked_reading import ChunkedReading
from connectors.jdbc.log.mysql.binlog_changes import Changes, Collected
from connectors.jdbc.log.mysql.tables import BinlogTable
from connectors.jdbc.log.mysql.told_transactions import provisional_places
from connectors.jdbc.log.shared import envelope
from connectors.jdbc.log.shared.column_change import changed_texts
from connectors.jdbc.log.shared.position import partition_of
from connectors.jdbc.log.shared.reading_options import PLAIN, ReadingOptions
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.unconvertible_rows import BadRow, BadRows, text_of

SERVER: Final = "server_uuid"
"""This member of an offset names the server whose files it counts."""
_OPS = np.array([envelope.CREATE, envelope.UPDATE, envelope.DELETE], np.uint8)
"""Holds the codes that operations have in events, in the order of `Operation`."""


class BinlogRecords:
    """Makes the records of one connector."""

    def __init__(self, config: JdbcSourceConfig, options: ReadingOptions = PLAIN) -> None:
        self._prefix = config.topic_prefix
        # Debezium's connectors for a binary log select by the statement, and its PostgreSQL connector by the event.
        self.rules = replace(options.rules(config), skips_statements=True)
        self.transaction_topic = options.transaction_topic
        self._server_uuid = ""
        self._begin: tuple[str, int] | None = None
        self._before = ""
        self.chunked: ChunkedReading[tuple[int, int]] | None = None
        """It tells its progress to positions. It is None if no table is read again."""

    def read_from(self, uuid: str, before: str = "", begin: BinlogPosition | None = None) -> None:
        """Take the UUID of the server of MySQL whose files positions count from now on.

        `begin` is the place where it is begun, and `before` the server that this place is of, if it is another one:
        stored positions name that one until a change of the new server is behind them.
        """
        self._server_uuid = uuid
        if begin is not None:
            self._begin, self._before = (begin.file, begin.pos), before

    def of_changes(self, table: BinlogTable, collected: Collected, changes: Changes) -> Batch | None:
        """Return changed rows of the log as their events, or None if all are skipped."""
        old, new = (np.flatnonzero(places >= 0) for places in (changes.before, changes.after))
        before, after = (
            table.records(changes.rows.values(table, changes.images.take(places[at])), is_logged=True)
            for places, at in ((changes.before, old), (changes.after, new))
        )
        source = self._source(table, collected, changes)
        rows = envelope.ChangedRows(
            _OPS[changes.operation], old, before if len(old) else None, new, after, source, full_before=True,
            transactions=provisional_places(collected, changes) if self.transaction_topic else None,
        )  # fmt: skip
        return envelope.batch(table.events, rows, self.rules)

    def of_snapshot(
        self,
        table: BinlogTable,
        values: pa.StructArray,
        position: BinlogPosition,
        ms: int,
        marks: pa.Array | str = "true",
    ) -> Batch | None:
        """Return rows of the first read as read events. `marks` are the values of `snapshot` in the source block."""
        count = len(values)
        source = {
            **self._constant(table), "snapshot": marks, "ts_ms": ms, "ts_us": ms * 1000, "ts_ns": ms * 1_000_000,
            "server_id": 0, "file": position.file, "pos": position.pos, "row": 0,
        }  # fmt: skip
        none = np.empty(0, np.int64)
        ops = np.full(count, envelope.READ, np.uint8)
        after = table.records(values, is_logged=False)
        rows = envelope.ChangedRows(ops, none, None, np.arange(count), after, source)
        return envelope.batch(table.events, rows, self.rules)

    def bad_rows(self, table: BinlogTable, rows: Sequence[BadRow], position: BinlogPosition) -> BadRows:
        """Return rows of a table that no record can hold, with the columns that events show."""
        at, form = self.position(position), table.events
        rows = [replace(row, texts=changed_texts(row.texts, form.row, form.changes)) for row in rows]
        return BadRows.of(rows, form.topic, table.format.schema.name, form.key, at)

    def position(self, position: BinlogPosition) -> SourcePosition:
        """Return a position as the framework stores it."""
        progress = {} if self.chunked is None else self.chunked.progress.offset()
        uuid = self._before if (position.file, position.pos) == self._begin else self._server_uuid
        # A place with GTIDs holds on every server.
        server = {SERVER: uuid} if uuid and not position.gtids else {}
        return SourcePosition(partition_of(self._prefix), {**position.offset(), **server, **progress})

    def _source(self, table: BinlogTable, collected: Collected, changes: Changes) -> dict[str, object]:
        told = np.array(collected.told, np.int64)[changes.event]
        at_us, thread = told[:, 2], told[:, 6]
        at = pa.array(changes.event)
        return {
            **self._constant(table), "snapshot": "false",
            "ts_ms": at_us // 1000, "ts_us": at_us, "ts_ns": at_us * 1000, "server_id": told[:, 3],
            "thread": pa.array(thread, mask=thread < 0), "gtid": pa.array(collected.gtids, pa.string()).take(at),
            "file": pa.array(collected.files, pa.string()).take(at), "pos": told[:, 4],
            "row": changes.in_event.astype(np.int32),
        }  # fmt: skip

    def _constant(self, table: BinlogTable) -> dict[str, object]:
        """Return the members of the source block that are the same for all rows of a table."""
        return {
            "version": __version__, "connector": table.connector, "name": self._prefix, "db": table.name.schema,
            "table": table.name.name,
        }  # fmt: skip


def texts_of(changes: Changes, row: int) -> dict[str, str | None]:
    """Return the row as it is after a change, or before it for a delete. Values that cannot be read are as the log has
    them.
    """
    place = changes.after[row] if changes.after[row] >= 0 else changes.before[row]
    fields = changes.images.take(np.array([place]))
    found = {}
    for number, plan in enumerate(changes.rows.table.format.columns):
        try:
            found[plan.name] = text_of(changes.rows.column(number, fields[number]), 0)
        except SchemaError:
            found[plan.name] = text_of(fields[number], 0)
    return found
