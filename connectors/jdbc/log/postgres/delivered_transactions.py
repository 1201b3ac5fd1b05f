"""Tells which transactions of PostgreSQL's log a later snapshot does not show yet. Pure.

A transaction is in the log before others see it. Until the commit is over, which may wait for a synchronous standby, it
counts as running.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection

import numpy as np

from connectors.jdbc.log.shared.cells import Places

_REMEMBERED = 100_000
"""This many transactions are remembered, as the commits of some may not be over yet."""
_RUNNING_AT_MOST = 1 << 24
"""A number that is further ahead belongs to an earlier round of the 32 bits, as fewer transactions run at once."""


class DeliveredTransactions:
    """Remembers the transactions that were read from the log. Owned by the reading thread."""

    def __init__(self) -> None:
        self._xids: deque[int] = deque(maxlen=_REMEMBERED)
        self.older: frozenset[int] | None = None
        """The transactions that ran when the first chunk was wanted, as they may have been read before a restart."""

    def add(self, xids: Places) -> None:
        """Remember the transactions of some changes."""
        self._xids.extend(np.unique(xids).tolist())

    def unseen_in(self, snapshot: str, uncommitted: Callable[[], Collection[int]]) -> list[int]:
        """Return the transactions that were read from the log, or may have been, and that a snapshot does not show.

        `snapshot` is in the server's form (`xmin:xmax:xip,…`), and was taken after `older`. `uncommitted` is asked for
        those of `older` that have surely not begun to commit.
        """
        _, xmax, listed = snapshot.split(":")
        running = np.array([int(xid) & 0xFFFFFFFF for xid in listed.split(",") if xid], np.int64)

        def hidden(xids: Collection[int]) -> frozenset[int]:
            found = np.fromiter(xids, np.int64, len(xids))
            ahead = (found - int(xmax)).astype(np.int32)
            is_hidden = ((ahead >= 0) & (ahead < _RUNNING_AT_MOST)) | np.isin(found, running)
            return frozenset(found[is_hidden].tolist())

        delivered, self.older = hidden(self._xids), hidden(self.older or ())
        maybe = self.older - delivered
        return sorted(delivered | (maybe - {*uncommitted()} if maybe else maybe))
