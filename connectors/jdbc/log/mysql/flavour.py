"""Tells MariaDB's binary logs and MySQL's apart: the server's name in events, and the transactions in a position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.binlog.gtid_set import GtidSet, previous_gtids
from connectors.jdbc.log.binlog.packets import Gtid

Gtids = Mapping[str, str]


class ExecutedTransactions(Protocol):
    """Follows which transactions are before a place in the log. Owned by the reading thread."""

    def told(self, body: bytes) -> None:
        """Take the event at the beginning of a log file that names the transactions before the file."""

    def begun(self, gtid: Gtid) -> None:
        """Take a transaction that begins in the log."""

    def unseen(self, visible: Gtids, server: str) -> str | None:
        """Return transactions that were read and that tables do not show, as text, or None if they show all.

        `visible` are the GTIDs of the transactions that tables show, and `server` is the UUID of MySQL's server.
        """

    def committed(self, gtids: Gtids, gtid: Gtid | None) -> Gtids:
        """Take a committed transaction; return the GTIDs of the place behind it. `gtids` are those of the place
        before it.
        """

    def behind(self, gtids: Gtids) -> Gtids:
        """Return the GTIDs with which a place is stored. `gtids` are those that `committed` returned."""


class MariaDbExecuted:
    """Follows MariaDB's transactions: the last one of each domain."""

    def __init__(self, gtids: Gtids) -> None:
        self._before = gtids
        self._begun: dict[str, str] = {}

    def told(self, body: bytes) -> None:
        """Do nothing: a place holds all that is needed."""

    def begun(self, gtid: Gtid) -> None:
        """Take a transaction that begins in the log."""
        self._begun[gtid.domain] = gtid.text

    def unseen(self, visible: Gtids, server: str) -> str | None:
        """Return the last transaction that was read of a domain, if tables do not show it.

        Domains may be removed, so that one which is not visible says nothing.
        """
        del server
        for domain, gtid in {**self._before, **self._begun}.items():
            if domain in visible and _number(gtid) > _number(visible[domain]):
                return gtid
        return None

    def committed(self, gtids: Gtids, gtid: Gtid | None) -> Gtids:
        """Return the last transaction of each domain."""
        return gtids if gtid is None else {**gtids, gtid.domain: gtid.text}

    def behind(self, gtids: Gtids) -> Gtids:
        """Return the last transaction of each domain."""
        return gtids


class MySqlExecuted:
    """Follows MySQL's transactions: the set of all transactions by server. It is empty until it is known to be
    whole.
    """

    def __init__(self, gtids: Gtids) -> None:
        self._all = GtidSet(gtids) if gtids else None
        self._before, self._begun = gtids, GtidSet({})

    def told(self, body: bytes) -> None:
        """Take the set of transactions that a log file names at its beginning, if no set is known yet."""
        self._all = self._all or previous_gtids(body)

    def begun(self, gtid: Gtid) -> None:
        """Take a transaction that begins in the log."""
        self._begun.add(gtid.domain, gtid.number)

    def unseen(self, visible: Gtids, server: str) -> str | None:
        """Return transactions that were read and that tables do not show. Of those before the start the server's own
        ones count alone, as it may never get those that another server has lost.
        """
        shown = GtidSet(visible)
        before = GtidSet({server: self._before[server]}) if server in self._before else GtidSet({})
        return shown.lacks(self._begun) or shown.lacks(before)

    def committed(self, gtids: Gtids, gtid: Gtid | None) -> Gtids:
        """Add a transaction to the set."""
        if gtid is None:
            # From a set that lacks this transaction, the server would send it again.
            self._all = None
        elif self._all is not None:
            self._all.add(gtid.domain, gtid.number)
        return gtids

    def behind(self, gtids: Gtids) -> Gtids:
        """Return the set of transactions by server, or an empty set if it is not known to be whole."""
        del gtids
        return {} if self._all is None else self._all.parts()


def _number(gtid: str) -> int:
    return int(gtid.rpartition("-")[2])


class Flavour(NamedTuple):
    """Describes a server's kind of binary log."""

    connector: str
    """This is the name that Debezium's connector has in the source block of its events."""
    executed: Callable[[Gtids], ExecutedTransactions]


MARIADB = Flavour("mariadb", MariaDbExecuted)
MYSQL = Flavour("mysql", MySqlExecuted)


def flavour_of(database: Database) -> Flavour:
    """Return the kind of log that the server says it has, whether the URL names MariaDB or MySQL."""
    return MARIADB if database.is_mariadb else MYSQL
