"""Has everything looked at again, though nobody has told of a change, when that makes sense.

A look at everything takes time for each connector of the cluster. What waits for time to pass alone is done some
seconds after the last change: tasks move when the group has settled, and what was not read back is said again. So a
cluster in which nothing happens is looked at seldom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from connect.cluster.loop.herder_parts import HerderParts

QUIET_S: Final = 12.0
"""After a change everything is looked at each time for so long."""
SELDOM_S: Final = 5.0
"""Without a change, everything is looked at so often."""


class QuietLooks:
    """Compares what the topics and the group say with what they said last. Owned by the herder's thread."""

    def __init__(self, parts: HerderParts, clock_s: Callable[[], float]) -> None:
        self._parts = parts
        self._clock_s = clock_s
        self._seen: tuple[object, ...] = ()
        self._changed_s = -math.inf
        self._looked_s = -math.inf

    def look(self) -> None:
        """Have everything reconciled if something has changed lately, or everything was not looked at for long."""
        self._compare()
        now_s = self._clock_s()
        if now_s - self._changed_s < QUIET_S or now_s - self._looked_s >= SELDOM_S:
            self._parts.loop.post("looking again", _noted)

    def looked(self) -> None:
        """Take note that everything is being looked at."""
        self._compare()
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
