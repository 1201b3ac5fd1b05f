"""Tells a waiting person whose transactions are open. Their statements are not told, as they may hold secrets."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from connect.api.errors import ConnectError
from connectors.jdbc.connection.connection import Database

_log = logging.getLogger(__name__)
_DOING: Final = "asking for open transactions"
_TOLD_S: Final = 3.0
"""A wait is logged once it lasts this many seconds, and checked again at this interval."""
_MOST: Final = 5


def open_sessions(database: Database) -> Sequence[str]:
    """Return a few sessions with open transactions, oldest first; none if the database does not tell them."""
    asked = database.dialect.server.open_sessions
    if not asked:
        return ()
    rows = database.told(lambda: database.rows(sa.text(asked), _DOING)) or ()
    told = [_told(row) for row in rows[:_MOST]]
    return [*told, f"and {len(rows) - _MOST} more"] if len(rows) > _MOST else told


def _told(row: Sequence[Any]) -> str:
    name, user, program, host, state, since = row
    who = " ".join(str(part) for part in (user and f"of {user}", host and f"at {host}") if part)
    how = ", ".join(str(part) for part in (program, state) if part)
    assert since is None or isinstance(since, datetime)
    began = "" if since is None else f" since {since.astimezone(UTC) if since.tzinfo else since:%Y-%m-%d %H:%M:%S} UTC"
    return f"{name}{f' {who}' if who else ''}{f' ({how})' if how else ''}{began}"


class OpenTransactionWait:
    """Tells a wait for open transactions in the log, with the sessions that hold them. Owned by one thread."""

    def __init__(self, what: str) -> None:
        """Begin the wait. `what` is the beginning of the message, as "Table public.orders has no safe mark yet"."""
        self._what = what
        self._next_s = time.monotonic() + _TOLD_S
        self._said: Sequence[str] = ()

    def goes_on(self, database: Database) -> None:
        """Log the sessions that are waited for, if they have changed."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _TOLD_S
        found = open_sessions(database)
        if found and found != self._said:
            _log.warning("%s: it waits for the open transactions of %s.", self._what, "; ".join(found))
            self._said = found


@contextmanager
def told_wait(what: str, connect: Callable[[], Database]) -> Iterator[None]:
    """Log a wait of this thread inside the block, from another thread with a separate connection."""
    done = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(OpenTransactionWait(what), connect, done), name="open-sessions", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _watch(wait: OpenTransactionWait, connect: Callable[[], Database], done: threading.Event) -> None:
    if done.wait(_TOLD_S):
        return
    database = connect()
    try:
        while not done.wait(_TOLD_S):
            wait.goes_on(database)
    except ConnectError as error:
        _log.warning("Who keeps transactions open is not known: %s", error)
    finally:
        database.close()


def those_of(database: Database) -> str:
    """Return the open transactions as a text that can stand behind "waits for"."""
    found = open_sessions(database)
    return f"the open transactions of {'; '.join(found)}" if found else "transactions that are open"
