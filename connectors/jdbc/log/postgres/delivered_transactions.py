"""Tells which transactions of PostgreSQL's log a later snapshot does not show yet.

A transaction is in the log before others see it. Until the commit is over, which may wait for a synchronous standby, it
counts as running.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection

import numpy as np

from connectors.jdbc.log.shared.cells import Places

_log = logging.getLogger(__name__)
_REMEMBERED = 100_000
"""This many transactions are remembered, as the commits of some may not be over yet."""
_RUNNING_AT_MOST = 1 << 24
"""A number that is further ahead belongs to an earlier round of the 32 bits, as fewer transactions run at once."""
MAYBE_WAIT_S = 60.0
"""A transaction that may have been delivered before a restart is waited for so long."""
MAYBE_REASON = (
    "which may have been delivered before the connector's last start, and wait for a standby since: "
    f"for {MAYBE_WAIT_S:.0f} s at most. GRANT pg_read_all_stats to the connector's user, so that the server tells it"
)


class DeliveredTransactions:
    """Remembers the transactions that were read from the log. Owned by the reading thread."""

    def __init__(self) -> None:
        self._xids: deque[int] = deque(maxlen=_REMEMBERED)
        self.older: frozenset[int] | None = None
        """Holds the transactions that ran when the first chunk was wanted: some may have been read before a restart."""
        self._gives_up_at_s: float | None = None

    def add(self, xids: Places) -> None:
        """Remember the transactions of some changes."""
        self._xids.extend(np.unique(xids).tolist())

    def unseen_in(self, snapshot: str) -> list[int]:
        """Return the transactions that were read from the log, and that a snapshot does not show.

        `snapshot` is in the server's form (`xmin:xmax:xip,…`).
        """
        return sorted(_hidden(self._xids, snapshot))

    def maybe_unseen_in(self, snapshot: str, uncommitted: Callable[[], Collection[int]]) -> list[int]:
        """Return those of `older` that a snapshot does not show, and that may have been read from the log.

        `snapshot` was taken after `older`. `uncommitted` is asked for those that have surely not begun to commit. From
        a minute on after the first ones were found there are none.
        """
        self.older = _hidden(self.older or (), snapshot)
        maybe = sorted(self.older - {*uncommitted()}) if self.older else []
        if not maybe:
            return []
        now_s = time.monotonic()
        if self._gives_up_at_s is None:
            self._gives_up_at_s = now_s + MAYBE_WAIT_S
        if now_s < self._gives_up_at_s:
            return maybe
        _log.warning(
            "Transaction %s still runs after %.0f s: tables are read again without it. If it was delivered before the "
            "connector's last start and only waits for a standby, a row may come as it was before that transaction. "
            "GRANT pg_read_all_stats to the connector's user, so that the server tells which transactions do so.",
            ", ".join(map(str, maybe)),
            MAYBE_WAIT_S,
        )
        self.older = frozenset()
        return []


def _hidden(xids: Collection[int], snapshot: str) -> frozenset[int]:
    _, xmax, listed = snapshot.split(":")
    running = np.array([int(xid) & 0xFFFFFFFF for xid in listed.split(",") if xid], np.int64)
    found = np.fromiter(xids, np.int64, len(xids))
    ahead = (found - int(xmax)).astype(np.int32)
    is_hidden = ((ahead >= 0) & (ahead < _RUNNING_AT_MOST)) | np.isin(found, running)
    return frozenset(found[is_hidden].tolist())
