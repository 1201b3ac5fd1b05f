"""Has the herder reconcile all connectors and tasks from time to time, although nobody has told of a change.

To reconcile takes time for each connector of the cluster. A step that only waits for time to pass is due some seconds
after the last change: tasks move when the group has settled, and a status that was not read back is written again. So
the herder reconciles seldom in a cluster in which nothing happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from connect.cluster.loop.herder_parts import HerderParts

QUIET_S: Final = 12.0
"""For this many seconds after a change each call of `look` has everything reconciled."""
SELDOM_S: Final = 5.0
"""Without a change, everything is reconciled once in this many seconds."""


class PeriodicReconcile:
    """Notices changes of the internal topics and of the group since the last look. Owned by the herder's thread."""

    def __init__(self, parts: HerderParts, clock_s: Callable[[], float], look_at_all: Callable[[], None]) -> None:
        """`look_at_all` lets the next time be at all connectors, and not at those alone that have changed."""
        self._look_at_all = look_at_all
        self._parts = parts
        self._clock_s = clock_s
        self._seen: tuple[object, ...] = ()
        self._changed_s = -math.inf
        self._looked_s = -math.inf

    def look(self) -> None:
        """Have everything reconciled if something has changed lately, or if it was not reconciled for `SELDOM_S`."""
        self._compare()
        now_s = self._clock_s()
        if now_s - self._changed_s < QUIET_S or now_s - self._looked_s >= SELDOM_S:
            self._look_at_all()
            self._parts.loop.post("looking again", _noted)

    def looked(self, *, at_all: bool) -> None:
        """Take note that what has changed is being reconciled, or, if `at_all`, everything."""
        self._compare()
        if at_all:
            self._looked_s = self._clock_s()

    def _compare(self) -> None:
        configs, membership = self._parts.configs, self._parts.membership
        topics = configs.claims.next_offset, configs.lost_claim, self._parts.statuses.changes
        seen = *topics, membership.view, membership.may_work
        if seen != self._seen:
            self._seen = seen
            self._changed_s = self._clock_s()


def _noted() -> None:
    """Do nothing: this is a step whose point is the reconciling after it."""
