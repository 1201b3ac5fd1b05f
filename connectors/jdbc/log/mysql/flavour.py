"""Tells MariaDB's binary logs and MySQL's apart: their name in events, and how a place tells its transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog.gtid_set import GtidSet, previous_gtids
from connectors.jdbc.log.binlog.packets import Gtid

Gtids = Mapping[str, str]


class ExecutedTransactions(Protocol):
    """Follows which transactions a place in the log has behind it. Owned by the reading thread."""

    def told(self, body: bytes) -> None:
        """Take what a file says of the transactions before it."""

    def committed(self, gtids: Gtids, gtid: Gtid | None) -> Gtids:
        """Take a transaction, and return what stands for it in a place. `gtids`: of the place before it."""

    def behind(self, gtids: Gtids) -> Gtids:
        """Return what a place is stored with. `gtids`: as `committed` returned them."""


class MariaDbExecuted:
    """Follows MariaDB's transactions: the last one of each domain."""

    def __init__(self, gtids: Gtids) -> None:
        del gtids

    def told(self, body: bytes) -> None:
        """Take nothing: a place has all that is needed."""

    def committed(self, gtids: Gtids, gtid: Gtid | None) -> Gtids:
        """Return the last transaction of each domain."""
        return gtids if gtid is None else {**gtids, gtid.domain: gtid.text}

    def behind(self, gtids: Gtids) -> Gtids:
        """Return the last transaction of each domain."""
        return gtids


class MySqlExecuted:
    """Follows MySQL's transactions: the set of all by server; none while it is not known to be whole."""

    def __init__(self, gtids: Gtids) -> None:
        self._all = GtidSet(gtids) if gtids else None

    def told(self, body: bytes) -> None:
        """Take what a file says of the transactions before it, where nothing else is known."""
        self._all = self._all or previous_gtids(body)

    def committed(self, gtids: Gtids, gtid: Gtid | None) -> Gtids:
        """Add a transaction to the set."""
        if gtid is None:
            # A set that lacks this transaction would bring it again.
            self._all = None
        elif self._all is not None:
            self._all.add(gtid.domain, gtid.number)
        return gtids

    def behind(self, gtids: Gtids) -> Gtids:
        """Return the set by server."""
        del gtids
        return {} if self._all is None else self._all.parts()


class Flavour(NamedTuple):
    """Describes a server's kind of binary log."""

    connector: str
    """Debezium's connector has this name in the source of its events."""
    executed: Callable[[Gtids], ExecutedTransactions]


MARIADB = Flavour("mariadb", MariaDbExecuted)
MYSQL = Flavour("mysql", MySqlExecuted)


def flavour_of(database: Database) -> Flavour:
    """Return the kind of log that the server says it has, under either name in the URL."""
    return MARIADB if database.is_mariadb else MYSQL
