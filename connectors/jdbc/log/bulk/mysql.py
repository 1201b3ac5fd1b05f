"""Reads tables of MariaDB or MySQL in bulk under mode=log, each split in a separate snapshot. Owned by one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from connect.api.errors import ConfigError, ConnectError
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog.position import BinlogPosition, Place, SnapshotEnd, read_binlog_offset
from connectors.jdbc.log.bulk.log_bulk import Keyed, Rows, Shared, behind
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.mysql.flavour import Flavour, flavour_of
from connectors.jdbc.log.mysql.history import MySqlHistory, metadata_of
from connectors.jdbc.log.mysql.schema_history import history_partition
from connectors.jdbc.log.mysql.snapshot import begin_snapshot, counted, planned_pages
from connectors.jdbc.log.mysql.tables import BinlogTable, plan_table
from connectors.jdbc.log.shared.heartbeat import Heartbeat
from connectors.jdbc.log.shared.position import partition_of
from connectors.jdbc.log.shared.snapshot_segments import Fence, Key, KeyRange
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import Raw


class MySqlBulk:
    """Reads the tables of one MariaDB or MySQL server. Implements LoggedServer."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connect to nothing."""
        self._config = config
        self.database = Database(config, waits=True)
        self.counted: int | None = None

    @property
    def keeps(self) -> str:
        """Return a text about the log that the server has to keep, and, for MySQL, how a snapshot begins."""
        log = (
            "the server must keep its binary log (binlog_expire_logs_seconds) from when the job begins until the "
            "connector has read it"
        )
        if self.database.is_mariadb:
            return log
        return (
            f"{log}; MySQL begins each snapshot under FLUSH TABLES WITH READ LOCK, which waits for statements that run "
            "and lets writes wait for a moment"
        )

    def keyed(self, table: TableName) -> Keyed:
        """Return the table's columns, and the column that orders rows if it is one whole number."""
        planned = self._planned(table)
        columns = planned.order.columns
        if not columns:
            raise ConnectError(
                f"Table {table.full} has neither a key nor columns that tell its rows apart, so that a read that is "
                "broken off could not go on.",
                key="table.whitelist",
                fix="Add a primary key.",
            )
        is_whole = len(columns) == 1 and columns[0].raw is Raw.INTEGER and not planned.order.is_digest
        return Keyed(planned.format.columns, columns[0].name if is_whole else None)

    def begin(self, tables: Sequence[TableName], deadline: Deadline) -> list[SourcePosition]:
        """Return the present place in the log, and the tables' columns there if the log does not tell them."""
        del deadline
        prefix = self._config.topic_prefix
        if metadata_of(self.database) == "FULL":
            here = begin_snapshot(self.database)
            self.database.end_transaction()
            return [SourcePosition(partition_of(prefix), here.offset())]
        history = MySqlHistory(self.database, set(tables).__contains__, threading.Event())
        begun = history.begin(tables)
        here = begin_snapshot(self.database)
        self.database.end_transaction()
        history.follow_to(begun, Place(here.file, here.pos))
        return [
            SourcePosition(partition_of(prefix), replace(here, history=history.number).offset()),
            SourcePosition(history_partition(prefix), history.unsaved_offset),
        ]

    def cost_of_holding(self) -> NoReturn:
        """Raise ConfigError: sessions of these servers cannot share a snapshot."""
        raise _no_shared_snapshot()

    def hold(self) -> NoReturn:
        """Raise ConfigError: sessions of these servers cannot share a snapshot."""
        raise _no_shared_snapshot()

    def read(self, table: TableName, keys: KeyRange, after: Mapping[str, Any] | None, shared: Shared | None) -> Rows:
        """Read the rows of a table in pages, as the connector's own first read does."""
        assert shared is None, "This server made no such snapshot."
        before = None if after is None else read_binlog_offset(after)
        planned = self._planned(table)
        here = begin_snapshot(self.database)
        seen = SnapshotEnd(here.file, here.pos, here.gtids)
        last = () if before is None else before.snapshot_key
        fence: Fence[SnapshotEnd] = Fence() if before is None else before.fences[table.full]
        fences = {table.full: fence.goes_on_within(planned.order.by, last, seen, table.full)}
        self.counted = counted(self.database, self._config, planned, last, keys)
        here = replace(here, snapshot_done=(), snapshot_table=table.full, snapshot_key=last, fences=fences)
        records = BinlogRecords(self._config)
        ms = time.time_ns() // 1_000_000
        for page in planned_pages(self.database, self._config, planned, last, keys):
            if page.bad:
                yield records.bad_rows(planned, page.bad, here)
            is_place, last = page.last_key != last, page.last_key
            here = replace(here, snapshot_key=page.last_key)
            batch = records.of_snapshot(planned, page.values, here, ms)
            if batch is not None:
                yield replace(batch, position=behind(records.position(here), is_place=is_place))
        self.database.end_transaction()
        yield replace(Heartbeat(self._config).nothing(), position=records.position(here))

    def position(self, offset: Mapping[str, Any]) -> BinlogPosition:
        """Return the position of an offset as the connector reads it."""
        return read_binlog_offset(offset)

    def last_key(self, offset: Mapping[str, Any]) -> Key:
        """Return the key of the last row that was read."""
        return read_binlog_offset(offset).snapshot_key

    def close(self) -> None:
        """Close the connections to the server."""
        self.database.close()

    @property
    def _flavour(self) -> Flavour:
        return flavour_of(self.database)

    def _planned(self, table: TableName) -> BinlogTable:
        return plan_table(self.database, table, self._config, self._flavour.connector)


def _no_shared_snapshot() -> ConfigError:
    return ConfigError(
        "MariaDB and MySQL show a snapshot to no other session than the one that began it, so that processes cannot "
        "read at one moment.",
        key="handover.mode",
        fix="Leave it out: each chunk is then read in a snapshot of its own, and each row and change still comes once.",
    )
