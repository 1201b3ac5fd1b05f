"""Tables in bulk under mode=log: each split is read in a snapshot of its own, and the log is followed behind them.

The log is kept from before the first split on. A split's offset tells the snapshots in which it was read, and the
offset from which the connector goes on has them all, as fences (`segments`): a change is left out where its row was
read behind it. So the tables are written to meanwhile, no snapshot is older than one split, and whoever reads them may
die and be replaced. Or all splits are read in one snapshot, where the server can, for as long as somebody holds it.
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
"""What a server's sessions need to read in a snapshot that another one holds, as JSON."""
SPLITS_AT_MOST: Final = 500
"""This limits the splits of all tables together: each may have its own snapshot, all in one offset for a while."""
_SNAPSHOT: Final = "snapshot"
"""A member of bounds: the snapshot that a split is read in, where that is not its own."""


class Keyed(NamedTuple):
    """A table's columns, and the one whole-number column that orders its rows; None: another order."""

    columns: Sequence[ColumnPlan]
    key: str | None


class FencedPosition(Protocol):
    """A place in a log with the fences of tables: a `LogPosition` or a `BinlogPosition`."""

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
        """Let the server keep the tables' changes from now on. Return the positions where the connector goes on."""

    def cost_of_holding(self) -> str:
        """Return what one snapshot for all splits costs the server. ConfigError: its sessions can share none."""

    def hold(self) -> Shared:
        """Begin a snapshot of now, in which others may read until `close`. ConfigError: as above."""

    def read(self, table: TableName, keys: KeyRange, after: Offset | None, shared: Shared | None) -> Rows:
        """Yield rows of a table in a snapshot of now, or a shared one, behind those that an offset of an earlier
        reading had.

        The last batch may have no rows. Each has an offset with the snapshots up to there, its table's fence.
        ConnectError: the shared snapshot is gone.
        """

    @property
    def counted(self) -> int | None:
        """Return how many rows the server counted in its snapshot for the last `read`; None: not yet."""

    def position(self, offset: Offset) -> FencedPosition:
        """Return the position of an offset that `begin` or `read` made."""

    def last_key(self, offset: Offset) -> Key:
        """Return the key of the last row that an offset names; empty: reading starts at the beginning."""

    @property
    def keeps(self) -> str:
        """Return what the server keeps for the job, for its plan."""

    def close(self) -> None:
        """Release everything. May be called twice."""


def server_of(config: JdbcSourceConfig) -> LoggedServer:
    """Return the server of a configuration. Connect to nothing."""
    log = dialect_of(config.connection_url).log
    assert log is not None  # as the settings were checked
    return log.bulk(config)


def behind(position: SourcePosition, *, is_place: bool) -> SourcePosition:
    """Return the position behind a page; without an offset if rows follow that nothing tells from its last one."""
    return position if is_place else SourcePosition(position.partition, None)


class LogBulk:
    """Plans, begins and ends a bulk read of one configuration. Used by one thread."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connects to nothing."""
        self._config = config

    def require_usable(self, positions: Sequence[SourcePosition]) -> None:
        """Raise ConfigError where an offset is no place of this server's log. Connect to nothing."""
        with closing(server_of(self._config)) as server:
            require_usable(positions, broken_members(self._config.topic_prefix, server.position))

    def plan(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan splits of all tables that the connector selects; every key is in one.

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
        """Return the plan with what it costs. ConfigError: the server cannot. Connects to nothing."""
        with closing(server_of(self._config)) as server:
            warnings = [*plan.warnings, server.cost_of_holding()]
            return replace(plan, statements=[_statement("all chunks in one snapshot", server)], warnings=warnings)

    def hold(self) -> HeldLogSnapshot:
        """Return a session of its own that holds the snapshot of now."""
        return HeldLogSnapshot(server_of(self._config))

    def begin(self, plan: BulkPlan, deadline: Deadline) -> list[SourcePosition]:
        """Let the server keep the changes from now on, and return where they begin."""
        tables = list(dict.fromkeys(TableSplit.of(split).table for split in plan.splits))
        with closing(server_of(self._config)) as server:
            return server.begin(tables, deadline)

    def behind(self, begun: Sequence[SourcePosition], read: Sequence[ReadSplit]) -> list[SourcePosition]:
        """Return where the log is followed from, with the snapshots of all splits. Connects to nothing."""
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
    """The snapshot of now, of a server that is closed with it. Implements HeldSnapshot."""

    def __init__(self, server: LoggedServer) -> None:
        """Connects. ConfigError: the server's sessions can share no snapshot."""
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
    """Return the size from which on splits are so few that their snapshots fit in an offset."""
    rows, size_bytes = sum(table.rows for table in tables), sum(table.size_bytes for table in tables)
    return SplitSize(max(size.rows, rows // SPLITS_AT_MOST + 1), max(size.size_bytes, size_bytes // SPLITS_AT_MOST + 1))


def _fences(server: LoggedServer, read: Sequence[ReadSplit]) -> dict[str, Fence[Any]]:
    parts = [(TableSplit.of(split), offset) for split, offset in read]
    # The first of a table has no begin; no other one lacks it.
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
    """Reads splits of tables, each in a snapshot of its own or in the one that its bounds name. Owned by one thread."""

    def __init__(self, config: JdbcSourceConfig) -> None:
        """Connects to nothing."""
        self._config = config
        self._server = server_of(config)
        self._reject: Callable[[Batch, Mapping[int, Exception]], None] | None = None

    def reject_by(self, reject: Callable[[Batch, Mapping[int, Exception]], None]) -> None:
        """Leave out rows that no record can hold, and tell of them."""
        self._reject = reject

    def read(self, split: Split, after: Offset | None) -> Iterator[Batch]:
        """Yield pages of the split; the last may have no rows. SchemaError: a row that no record can hold."""
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
        """Return ranges of keys behind the offset, of equal width; none when the key is no integer, or no key
        is left."""
        wanted, last = TableSplit.of(split), self._server.last_key(offset)
        columns, key = self._server.keyed(wanted.table)
        if key is None or not last:
            return ()
        end = wanted.end
        if end is None:
            keys = _span(self._server.database, self._config, wanted.table, columns, key)
            end = 0 if keys is None else keys.stop
        # The pieces may be read when the snapshot is gone.
        bounds = {name: value for name, value in split.bounds.items() if name != _SNAPSHOT}
        return divided(replace(split, bounds=bounds), int(last[0]), end, parts)

    @property
    def counted(self) -> int | None:
        """Return the number of rows as the server counted them in the snapshot of what is read."""
        return self._server.counted

    def count(self, split: Split) -> None:
        """Return None: the table may have other rows by now than those that were read, and its log tells which."""

    def close(self) -> None:
        """Close every connection."""
        self._server.close()
