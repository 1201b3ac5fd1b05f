"""Reads a table of MariaDB or MySQL for the first time: its rows page by page, each with the place behind it.

Owned by the reading thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.connection.pages import Page, PageRules, Pages
from connectors.jdbc.database.catalog import NoTableError, describe
from connectors.jdbc.database.query import Source, query_source, table_source
from connectors.jdbc.log.binlog.gtid_set import gtid_parts
from connectors.jdbc.log.binlog.position import BinlogPosition, SnapshotEnd, file_number, gtids_of
from connectors.jdbc.log.mysql.tables import BinlogTable
from connectors.jdbc.log.shared.snapshot_segments import EVERY_KEY, Fence, Key, KeyRange
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.unconvertible_rows import BadRow

_log = logging.getLogger(__name__)
_NAMED = 3
_FIRST_EVENT_AT = 4
"""A file of the log has its first event at this place, behind bytes that mark it as such a file."""


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """Holds some rows of a table.

    The read can go on behind `last_key`. That is empty if the read cannot go on, so that all rows would come again.
    `bad` are the rows up to there that no record can hold.
    """

    values: pa.StructArray
    last_key: Key
    bad: Sequence[BadRow] = ()


def begin_first_snapshot(database: Database) -> tuple[BinlogPosition, Sequence[str]]:
    """Begin a transaction as `begin_snapshot` does. Return its place, and XA transactions that may be prepared there.

    MySQL is asked while nothing can be committed. MariaDB has no such lock here, so that it is asked before and behind:
    what is committed in between may be in the snapshot, or may be missing.
    """
    found: dict[str, None] = {}
    if database.is_mariadb:
        found |= dict.fromkeys(prepared_transactions(database))
    here = begin_snapshot(database, held=lambda: found.update(dict.fromkeys(prepared_transactions(database))))
    return here, [*found]


def begin_snapshot(
    database: Database, *, tells_gtids: bool = True, held: Callable[[], None] = lambda: None
) -> BinlogPosition:
    """Begin a transaction that sees the tables as they are at one place of the log, and tell the place.

    MariaDB reads its log file up to the place for the GTIDs there, and is asked for them only with `tells_gtids`.
    `held` is called once the snapshot is taken, on MySQL before anything can be committed again.
    """
    fix = "Grant the user RELOAD, REPLICATION CLIENT (BINLOG MONITOR) and SELECT."
    mariadb, connection = database.is_mariadb, database.connection
    database.end_transaction()
    with database.errors.translated("beginning the snapshot", fix):
        connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        if not mariadb:
            connection.exec_driver_sql("FLUSH TABLES WITH READ LOCK")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        if mariadb:
            # MariaDB tells the snapshot's place without a lock (documentation, "Enhancements for START TRANSACTION …").
            status = connection.exec_driver_sql("SHOW STATUS LIKE 'binlog_snapshot_%%'").all()
            found = {str(row[0]).lower(): row[1] for row in status}
            file, pos = str(found["binlog_snapshot_file"]), int(found["binlog_snapshot_position"])
            asked = sa.select(sa.func.binlog_gtid_pos(file, pos))
            gtid = str((connection.execute(asked).scalar() if tells_gtids else "") or "")
            held()
        else:
            row = connection.exec_driver_sql(status_statement(connection)).first()
            assert row is not None
            file, pos, gtid = str(row[0]), int(row[1]), str(row[4] or "") if len(row) > 4 else ""
            held()
            connection.exec_driver_sql("UNLOCK TABLES")
    if not file:
        raise ConnectError("The server writes no binary log.", key="mode", fix="Set log_bin and restart the server.")
    return BinlogPosition(file, pos, gtids_of(gtid))


def prepared_transactions(database: Database) -> list[str]:
    """Return the names of XA transactions that are prepared and not committed. The session's transaction goes on.

    The list is empty if the user has no right to ask (XA_RECOVER_ADMIN of MySQL).
    """
    try:
        rows = database.rows(sa.text("XA RECOVER"), "asking for prepared transactions")
    except RetriableError:
        raise
    except ConnectError as error:
        _log.info("XA transactions that are prepared are not seen: %s", error.message)
        return []
    return [row[3].decode(errors="replace") if isinstance(row[3], bytes) else str(row[3]) for row in rows]


def few_of(names: Sequence[str]) -> str:
    """Return the first names as text, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def status_statement(connection: sa.Connection) -> str:
    """Return the statement that asks for the end of the binary log."""
    version = connection.dialect.server_version_info or (0,)
    return "SHOW BINARY LOG STATUS" if version >= (8, 2) else "SHOW MASTER STATUS"


def server_uuid(database: Database) -> str:
    """Return the UUID of MySQL's server, or an empty text if it has none, as MariaDB."""
    statement = sa.text("SHOW GLOBAL VARIABLES LIKE 'server_uuid'")
    rows = database.rows(statement, "asking for the server's UUID")
    database.end_transaction()
    return str(rows[0][1]) if rows else ""


def executed_gtids(database: Database) -> tuple[str, Mapping[str, str] | None]:
    """Return the UUID of MySQL's server, and the transactions that its tables show, or None if it does not tell them in
    a form that is known here.
    """
    doing = "asking for executed transactions"
    statement = sa.text("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'gtid_mode')")
    found = {str(row[0]).lower(): str(row[1]) for row in database.rows(statement, doing)}
    server = found.get("server_uuid", "")
    if found.get("gtid_mode") != "ON":
        return server, None
    # SHOW cuts a value at 1,024 characters. MySQL 5.5 has no such variable, and selecting it would be an error.
    text = "".join(str(database.scalar(sa.text("SELECT @@global.gtid_executed"), doing)).split())
    gtids = gtid_parts(text)
    return server, gtids if gtids or not text else None


def log_end(database: Database) -> tuple[str, int]:
    """Return the end of the binary log: its file, and the place in it."""
    with database.errors.translated("asking for the end of the log", "Grant the user REPLICATION CLIENT."):
        connection = database.connection
        if database.is_mariadb:
            # Outside of a snapshot these variables tell the newest commit's place, and no right is needed to read them.
            rows = connection.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'binlog_snapshot_%%'").all()
            found = {str(row[0]).lower(): row[1] for row in rows}
            file, pos = str(found["binlog_snapshot_file"]), int(found["binlog_snapshot_position"])
        else:
            row = connection.exec_driver_sql(status_statement(connection)).first()
            assert row is not None
            file, pos = str(row[0]), int(row[1])
    database.end_transaction()
    return file, pos


def log_begin(database: Database) -> BinlogPosition:
    """Return the place where the first file begins that the server still has of its binary log."""
    with database.errors.translated("asking for the files of the log", "Grant the user REPLICATION CLIENT."):
        row = database.connection.exec_driver_sql("SHOW BINARY LOGS").first()
    database.end_transaction()
    if row is None:
        raise ConnectError("The server writes no binary log.", key="mode", fix="Set log_bin and restart the server.")
    return BinlogPosition(str(row[0]), _FIRST_EVENT_AT)


def log_bytes_after(database: Database, here: tuple[int, int]) -> int | None:
    """Return how many bytes of the binary log are behind a place (a file's number, and the place in it).

    Return None if the bytes are in several files, and the user may not see how large these are.
    """
    file, pos = log_end(database)
    if file_number(file) == here[0]:
        return max(0, pos - here[1])
    files = database.told(lambda: database.rows(sa.text("SHOW BINARY LOGS"), "asking for the files of the log"))
    database.end_transaction()
    if files is None:
        return None
    sizes = {file_number(str(row[0])): int(row[1]) for row in files}
    return sum(size for number, size in sizes.items() if number >= here[0]) - (here[1] if here[0] in sizes else 0)


def fence_of(position: BinlogPosition, table: BinlogTable, seen: SnapshotEnd | None) -> Fence[SnapshotEnd]:
    """Return the fence of a table that is read, or read on, in the new snapshot `seen`."""
    fence = position.fences.get(table.name.full, Fence())
    is_begun = position.snapshot_table == table.name.full
    if not is_begun or position.snapshot_key:
        return fence.goes_on(table.order.by, position.snapshot_key if is_begun else (), seen)
    if table.events.key:
        return fence.begun_again(table.order.by)
    _log.warning(
        "The first read of table %s was broken off, and it has neither a key nor columns to tell its rows apart by: "
        "its rows come again.",
        table.name.full,
    )
    return fence.goes_on(table.order.by, (), seen)


def planned_pages(
    database: Database,
    config: JdbcSourceConfig,
    table: BinlogTable,
    after: Key,
    keys: KeyRange = EVERY_KEY,
    *,
    select: str = "",
) -> Iterator[SnapshotPage]:
    """Yield pages as `snapshot_pages` does. RetriableError: the table was altered or dropped since it was planned.

    `select` is the query whose rows are taken for the table's, or is empty if the table itself is read.
    """
    rows = config.paced(config.max_batch_size)
    columns = table.format.columns
    whole = table_source(table.name, columns, quote=config.quotes_identifiers)
    source = query_source(select, columns) if select else whole
    try:
        yield from snapshot_pages(database, table, source, after, rows, keys=keys)
    except RetriableError:
        raise
    except ConnectError as error:
        database.close()
        if _is_as_planned(database, config, table):
            raise
        raise RetriableError(f"{error.message} It was altered while others were read: reading it anew.") from error


def counted(database: Database, config: JdbcSourceConfig, table: BinlogTable, after: Key, keys: KeyRange) -> int:
    """Return how many rows `planned_pages` gives, as the server counts them in the same snapshot."""
    source = table_source(table.name, table.format.columns, quote=config.quotes_identifiers)
    statement = table.order.statement(source, after, keys).with_only_columns(sa.func.count()).order_by(None)
    return int(database.scalar(statement, f"counting table {table.name.full}"))


def _is_as_planned(database: Database, config: JdbcSourceConfig, table: BinlogTable) -> bool:
    try:
        now = describe(database, table.name, config)
    except NoTableError:
        return False
    return now.columns == table.described


def snapshot_pages(
    database: Database, table: BinlogTable, source: Source, after: Key, page_rows: int, *, keys: KeyRange = EVERY_KEY
) -> Iterator[SnapshotPage]:
    """Yield the rows of a source behind a key, or all rows if the key is empty, in the table's order.

    `keys` limits the one column of the key.
    """
    columns = table.format.columns
    places = [i for name in _names(table) for i, plan in enumerate(columns) if plan.name == name]
    if table.order.is_digest:
        places = [len(columns)]
    statement = table.order.statement(source, after, keys)
    rules = PageRules(page_rows, table.format, tuple(places) if table.order.columns else (), sets_bad_aside=True)
    pages = database.pages(statement, rules, f"reading table {table.name.full}")
    yield from _by_digest(pages, len(columns), after) if table.order.is_digest else _by_key(pages, table)
    pages.close()


def _names(table: BinlogTable) -> list[str]:
    return [column.name for column in table.order.columns]


def _by_key(pages: Pages, table: BinlogTable) -> Iterator[SnapshotPage]:
    names = _names(table)
    while len(page := pages.next()):
        last = {name: values[-1:] for name, values in zip(names, page.kept, strict=True)}
        yield SnapshotPage(page.values, table.order.keys(last)[0], list(page.bad.values()))


def _by_digest(pages: Pages, place: int, after: Key) -> Iterator[SnapshotPage]:
    """Yield pages that end between two digests, as a read can go on behind all rows of a digest only.

    If all rows of a page have one digest, the page ends among them. These rows come again if the read breaks off there.
    """
    held: list[pa.StructArray] = []
    held_bad: list[BadRow] = []
    last_key = after
    while len(page := pages.next()):
        digests = _digests(page)
        tail = _unfinished(digests, page, place)
        if tail < len(digests):
            last_key = (digests[-1 - tail],)
        elif digests:
            tail = 0
        bad = [row for number, row in page.bad.items() if number < len(page) - tail]
        ready = len(page) - tail - len(bad)
        yield SnapshotPage(pa.concat_arrays([*held, page.values.slice(0, ready)]), last_key, [*held_bad, *bad])
        held = [page.values.slice(ready)] if tail else []
        held_bad = list(page.bad.values())[len(bad) :]


def _digests(page: Page) -> Sequence[str]:
    values: Any = page.kept[0] if page.kept else []
    found: list[str] = values.to_pylist() if isinstance(values, pa.Array) else list(values)
    return found


def _unfinished(digests: Sequence[str], page: Page, place: int) -> int:
    """Return how many rows at the page's end may share their digest with rows behind the page."""
    if not digests or page.following is None or page.following[place] != digests[-1]:
        return 0
    return next((n for n, digest in enumerate(reversed(digests)) if digest != digests[-1]), len(digests))
