"""Finds InnoDB's open transactions in MariaDB and MySQL.

information_schema.innodb_trx is a copy, which InnoDB makes anew only when nobody has read it for 0.1 s (source:
storage/innobase/trx/trx0i_s.cc, CACHE_MIN_IDLE_TIME). With several readers the copy may grow old, and lacks newer
transactions. It is used only if it has the very statement that reads it, as then it was made just now. Else SHOW ENGINE
INNODB STATUS is used, which is no copy.

Before version 5.7 (MariaDB 10.2) InnoDB gives numbers also to transactions that only read, as ours. On such servers a
transaction counts if it has changed rows. One that is about to change rows is found by its running statement.

For a prepared transaction that was there when InnoDB started, InnoDB tells the start as its beginning. So its true
beginning is not known.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from connect.api.errors import RetriableError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.values.java_zones import moment_us

_DOING: Final = "asking for open transactions"
_NOTHING_WRITTEN_FROM: Final = 2**48
"""A transaction that has written nothing yet, so has taken no id or timestamp, has the number 0 or one from here on."""
_COPY: Final = """
SELECT /* {mark} */ trx_mysql_thread_id, CONVERT_TZ(trx_started, 'SYSTEM', '+00:00'), CAST(trx_id AS UNSIGNED),
  trx_rows_modified, CASE WHEN trx_mysql_thread_id = CONNECTION_ID() THEN trx_query END
FROM information_schema.innodb_trx
"""
_BLOCKS: Final = re.compile(r"^---TRANSACTION ", re.MULTILINE)
_WRITER: Final = re.compile(r"(\d+), (?!not started)(.*)")
_AGE: Final = re.compile(r"\bACTIVE\b.*? (\d+) sec")
_THREAD: Final = re.compile(r"^(?:MariaDB|MySQL) thread id (\d+),", re.MULTILINE)
_CHANGED: Final = "undo log entries"
_CUT: Final = "... truncated..."
_RECOVERED: Final = "recovered trx"
_NOBODYS: Final = "Transaction "
_ANY_AGE_US: Final = 0
_START_US: Final = 60_000_000
"""A server may still recover prepared transactions until this many microseconds after its start (Uptime)."""


def open_writes(database: Database, now_us: int) -> dict[str, int]:
    """Return the latest time, in microseconds, at which each transaction that has written something began, by its name.

    `now_us` is the server's clock. Raise RetriableError if the server cannot tell now, ConnectError if the user may not
    see transactions.
    """
    mark = secrets.token_hex(8)
    # InnoDB shows statements of transactions alone, and a query of its own tables begins no transaction.
    database.run("START TRANSACTION WITH CONSISTENT SNAPSHOT", _DOING)
    rows = database.rows(sa.text(_COPY.format(mark=mark)), _DOING)
    own = next((number for *_, number, _, query in rows if mark in (query or "")), None)
    if own is not None:
        found = _of_copy(rows, readers_have_numbers=_is_numbered(own))
        nobodys = [name for name in found if name.startswith(_NOBODYS)]
        up_us = _up_since_us(database, now_us) + _START_US if nobodys else 0
        return found | {name: _ANY_AGE_US for name in nobodys if found[name] < up_us}
    thread = int(database.scalar(sa.text("SELECT CONNECTION_ID()"), _DOING))
    return of_status(str(database.rows(sa.text("SHOW ENGINE INNODB STATUS"), _DOING)[0][2]), now_us, thread)


def _up_since_us(database: Database, now_us: int) -> int:
    (_, seconds), *_ = database.rows(sa.text("SHOW GLOBAL STATUS LIKE 'Uptime'"), _DOING)
    return now_us - int(seconds) * 1_000_000


def _is_numbered(number: int | str) -> bool:
    return 0 < int(number) < _NOTHING_WRITTEN_FROM


def _of_copy(rows: Sequence[Sequence[Any]], *, readers_have_numbers: bool) -> dict[str, int]:
    return {
        f"Connection {thread}" if thread else f"{_NOBODYS}{number}": moment_us(began)
        for thread, began, number, changed, _ in rows
        if _is_numbered(number) and not (readers_have_numbers and thread and not changed)
    }


def of_status(text: str, now_us: int, own_thread: int) -> dict[str, int]:
    """Return the same as `open_writes`, from the text of SHOW ENGINE INNODB STATUS.

    `own_thread` asked for the text, in a transaction that only reads. Raise RetriableError if the text is cut.
    """
    if _CUT in text:
        raise RetriableError("The server has more transactions than SHOW ENGINE INNODB STATUS can list.")
    began: dict[str, int] = {}
    found = [(_WRITER.match(block), _THREAD.search(block), block) for block in _BLOCKS.split(text)[1:]]
    numbered = [(writer, thread, block) for writer, thread, block in found if writer and _is_numbered(writer[1])]
    readers_have_numbers = any(thread and int(thread[1]) == own_thread for _, thread, _ in numbered)
    for writer, thread, block in numbered:
        if readers_have_numbers and thread and _CHANGED not in block:
            continue
        age = _AGE.search(writer[2])
        if age is None:
            raise RetriableError(f"Transaction {writer[1]} is between two states ({writer[2]}).")
        name = f"Connection {thread[1]}" if thread else f"{_NOBODYS}{writer[1]}"
        # Ages are whole seconds.
        began[name] = _ANY_AGE_US if _RECOVERED in block else now_us - (int(age[1]) + 1) * 1_000_000
    return began
