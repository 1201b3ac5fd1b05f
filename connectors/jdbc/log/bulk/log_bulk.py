"""Reads tables in bulk under mode=log: each split is read in a separate snapshot, and the log is followed after that.

The server keeps its log from before the first split on. A split's offset tells the snapshots in which the split was
read. The offset from which the connector goes on has all of them, as fences (`snapshot_segments`): a change is left out
if its row was read after the change. So the tables may be written to meanwhile, no snapshot lasts longer than one
split, and a reader that dies can be replaced. If the server can do so, all splits can be read in one snapshot instead,
for as long as a session holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol, cast

from connect.api.optional.bulk import BulkPlan, ReadSplit, Split, SplitSize
from connect.api.optional.given_offsets import require_usable
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import choose_tables, list_tables
from connectors.jdbc.database.query import table_source
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.follow.first_read import key_span
from connectors.jdbc.follow.splits import TableSize, TableSplit, cut, divided, table_size
from connectors.jdbc.log.bulk.given_offsets import broken_members
from connectors.jdbc.log.shared.snapshot_segments import Fence, Key, KeyRange, other_order
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.source.check import check
from connectors.jdbc.values.types import ColumnPlan
from connectors.jdbc.values.unconvertible_rows import BadRows

Offset = Mapping[str, Any]
Rows = Generator[Batch | BadRows, None, None]
Shared = Sequence[Any]
"""Describes, as JSON, a snapshot that one session holds and in which other sessions read."""
SPLITS_AT_MOST: Final = 500
"""All tables together have at most this many splits: each may have its own snapshot, and one offset holds all of
them.
"""
_SNAPSHOT: Final = "snapshot"
"""This member of a split's bounds names a shared snapshot; without it the split is read in a separate snapshot."""


class Keyed(NamedTuple):
    """Holds a table's columns, and the whole-number column that alone orders its rows, or None if rows have another
    order.
    """

    columns: Sequence[ColumnPlan]
    key: str | None


class FencedPosition(Protocol):
    """Holds a place in a log with the fences of tables: a `LogPosition` or a `BinlogPosition`."""

    @property
    def fences(self) -> Mapping[str, Fence[Any]]:
        """Return the fences by the table's full name."""

    def offset(self) -> dict[str, object]:
        """Return the position as it is stored in an offset."""


class LoggedServer(Protocol):
    """Describes a server with a log: `PostgresBulk` or `MySqlBulk`. Owned by one thread."""

    @property
    def database(self) -> Database:
        """Return a connection for questions."""

    def keyed(self, table: TableName) -> Keyed:
        """Return a table's columns and the key that orders its rows. ConnectError: a broken read could not go on."""

    def begin(self, tables: Sequence[TableName], deadline: Deadline) -> list[SourcePosition]:
        """Let the server keep the tables' changes from now on. Return the positions from which the connector goes
        on.
        """

    def cost_of_holding(self) -> str:
        """Return a text of what one snapshot for all splits costs the server. ConfigError: its sessions can share
        none.
        """

    def hold(self) -> Shared:
        """Begin a snapshot in which others may read until `close`. ConfigError: the server's sessions can share
        none.
        """

    def read(self, table: TableName, keys: KeyRange, after: Offset | None, shared: Shared | None) -> Rows:
        """Yield rows of a table in a new snapshot, or in the shared one, behind the rows that the offset `after`
        covers.

        Each batch has an offset that holds the snapshots up to there as its table's fence. The last batch may have no
        rows. ConnectError: the shared snapshot is gone.
        """

    @property
    def counted(self) -> int | None:
        """Return how many rows the server counted in its snapshot for the last `read`, or None if it has not counted
        yet.
        """

    def position(self, offset: Offset) -> FencedPosition:
        """Return the position of an offset that `begin` or `read` made."""

    def last_key(self, offset: Offset) -> Key:
        """Return the key of the last row that an offset names, which is empty if reading starts at the beginning."""

    @property
    def keeps(self) -> str:
        """Return a text of what the server keeps for the job, which the job's plan shows."""

    def close(self) -> None:
        """Release everything. May be called twice."""


def server_of(config: JdbcSourceConfig) -> LoggedServer:
    """Return the server of a configuration. Connect to nothing."""
    log = dialect_of(config.connection_url).log
    assert log is not None  # as the settings were checked
    return log.bulk(config)


def behind(position: SourcePosition, *, is_place: bool) -> SourcePosition:
    """Return the position behind a page; it has no offset if rows may follow that cannot be told from the page's
    last row.
    """
    return position if is_place else SourcePosition(position.partition, None)


class LogBulk:
    """Plans, begins and ends a bulk read of one configuration. Used by one thread."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connect to nothing."""
        self._config = config

    def require_usable(self, positions: Sequence[SourcePosition]) -> None:
        """Raise ConfigError if an offset is no place of this kind of log. Connect to nothing."""
        with closing(server_of(self._config)) as server:
            require_usable(positions, broken_members(self._config.topic_prefix, server.position))

    def plan(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan splits of all tables that the connector selects. Together they have every key.

        ConfigError: mode=log cannot work.
        """
        notes = check(self._config, deadline)
        with closing(server_of(self._config)) as server:
            tables = choose_tables(server.database, self._config, list_tables(server.database, self._config))
            server.database.end_transaction()
            sizes = {table: self._size(server, table) for table in tables}
            wanted = split_size(size, list(sizes.values()))
            plans = [self._table(server, table, sizes[table], wanted) for table in tables]
            return BulkPlan(
                [split for splits, _ in plans for split in splits],
                (),
                statements=[_statement("each chunk in a snapshot of its own", server)],
                warnings=[*notes, *(text for _, texts in plans for text in texts)],
                is_fenced=True,
            )

    def in_one_snapshot(self, plan: BulkPlan) -> BulkPlan:
        """Return the plan to read all splits in one snapshot, with its costs. ConfigError: the server cannot do so."""
        with closing(server_of(self._config)) as server:
            warnings = [*plan.warnings, server.cost_of_holding()]
            return replace(plan, statements=[_statement("all chunks in one snapshot", server)], warnings=warnings)

    def hold(self) -> HeldLogSnapshot:
        """Return a session that holds a new snapshot for others."""
        return HeldLogSnapshot(server_of(self._config))

    def begin(self, plan: BulkPlan, deadline: Deadline) -> list[SourcePosition]:
        """Let the server keep the changes from now on, and return where they begin."""
        tables = list(dict.fromkeys(TableSplit.of(split).table for split in plan.splits))
        with closing(server_of(self._config)) as server:
            return server.begin(tables, deadline)

    def behind(self, begun: Sequence[SourcePosition], read: Sequence[ReadSplit]) -> list[SourcePosition]:
        """Return the positions from which the log is followed, with the snapshots of all splits. Connect to nothing."""
        with closing(server_of(self._config)) as server:
            begin, *others = begun
            assert begin.offset is not None
            position: Any = server.position(begin.offset)
            return [SourcePosition(begin.partition, replace(position, fences=_fences(server, read)).offset()), *others]

    def _size(self, server: LoggedServer, table: TableName) -> TableSize:
        source = table_source(table, (), quote=self._config.quotes_identifiers)
        return table_size(server.database, table, source.relation)

    def _table(
        self, server: LoggedServer, table: TableName, size: TableSize, wanted: SplitSize
    ) -> tuple[list[Split], list[str]]:
        columns, key = server.keyed(table)
        if key is None:
            text = f"Table {table.full} has no primary key of one whole-number column: one lane reads the whole of it."
            return [one.as_split for one in cut(table, {}, None, size, wanted)], [text]
        keys = _span(server.database, self._config, table, columns, key)
        return [one.as_split for one in cut(table, {}, keys, size, wanted)], []


class HeldLogSnapshot:
    """Holds a snapshot, and closes its server with it. Implements HeldSnapshot."""

    def __init__(self, server: LoggedServer) -> None:
        """Connect and begin the snapshot. ConfigError: the server's sessions can share none."""
        self._server = server
        try:
            self._shared = server.hold()
        except BaseException:
            server.close()
            raise

    def placed(self, split: Split) -> Split:
        """Return the split with the snapshot among its bounds."""
        return replace(split, bounds={**split.bounds, _SNAPSHOT: self._shared})

    def close(self) -> None:
        """End the session."""
        self._server.close()


def _statement(moment: str, server: LoggedServer) -> str:
    return f"{moment}; the log is followed behind it: {server.keeps}"


def _span(
    database: Database, config: JdbcSourceConfig, table: TableName, columns: Sequence[ColumnPlan], key: str
) -> range | None:
    source = table_source(table, columns, quote=config.quotes_identifiers)
    return key_span(database, source.relation, source.column(key))


def split_size(size: SplitSize, tables: Sequence[TableSize]) -> SplitSize:
    """Return the size that splits must have at least, so that all their snapshots fit in one offset."""
    rows, size_bytes = sum(table.rows for table in tables), sum(table.size_bytes for table in tables)
    return SplitSize(max(size.rows, rows // SPLITS_AT_MOST + 1), max(size.size_bytes, size_bytes // SPLITS_AT_MOST + 1))


def _fences(server: LoggedServer, read: Sequence[ReadSplit]) -> dict[str, Fence[Any]]:
    parts = [(TableSplit.of(split), offset) for split, offset in read]
    # Only the first split of a table has no begin.
    parts.sort(key=lambda part: (part[0].table.full, part[0].begin is not None, part[0].begin or 0))
    return {
        table: _joined(table, [(server.position(offset).fences[table], one.end) for one, offset in of_table])
        for table, of_table in groupby(parts, key=lambda part: part[0].table.full)
    }


def _joined(table: str, parts: Sequence[tuple[Fence[Any], int | None]]) -> Fence[Any]:
    if len({fence.by for fence, _ in parts}) > 1:
        raise other_order(table)
    return Fence.joined([(fence, None if end is None else (str(end - 1),)) for fence, end in parts])


class LogBulkReader:
    """Reads splits of tables, each in a separate snapshot or in the one that its bounds name. Owned by one thread."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connect to nothing."""
        self._config = config
        self._server = server_of(config)
        self._reject: Callable[[Batch, Mapping[int, Exception]], None] | None = None

    def reject_by(self, reject: Callable[[Batch, Mapping[int, Exception]], None]) -> None:
        """Leave out rows that no record can hold, and pass them to `reject`."""
        self._reject = reject

    def read(self, split: Split, after: Offset | None) -> Iterator[Batch]:
        """Yield pages of the split; the last may have no rows. SchemaError: no record can hold a row."""
        wanted, shared = TableSplit.of(split), cast("Shared | None", split.bounds.get(_SNAPSHOT))
        with closing(self._server.read(wanted.table, KeyRange(wanted.begin, wanted.end), after, shared)) as pages:
            for page in pages:
                if not isinstance(page, BadRows):
                    yield page
                elif self._reject is None:
                    raise next(iter(page.reasons.values()))
                else:
                    self._reject(page.batch, page.reasons)

    def divide(self, split: Split, offset: Offset, parts: int) -> Sequence[Split]:
        """Return ranges of equal width of the keys behind the offset; none if the key is no integer or no key is
        left.
        """
        wanted, last = TableSplit.of(split), self._server.last_key(offset)
        if not last:
            return ()
        # The reader's own connection may be streaming the split's rows, and another statement there would end them.
        with closing(server_of(self._config)) as asked:
            columns, key = asked.keyed(wanted.table)
            if key is None:
                return ()
            end = wanted.end
            if end is None:
                keys = _span(asked.database, self._config, wanted.table, columns, key)
                end = 0 if keys is None else keys.stop
        # The ranges may be read when the snapshot is gone.
        bounds = {name: value for name, value in split.bounds.items() if name != _SNAPSHOT}
        return divided(replace(split, bounds=bounds), int(last[0]), end, parts)

    @property
    def counted(self) -> int | None:
        """Return the number of rows that the server counted in the snapshot in which the split is read."""
        return self._server.counted

    def count(self, split: Split) -> None:
        """Return None, as the table may have other rows by now than were read, and the log tells of these."""

    def close(self) -> None:
        """Close every connection."""
        self._server.close()
